// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds which ranks do the same: those that take part in the same kinds of collectives. The stages
// of a pipeline differ at its ends by the direction in which they send and receive, and in its
// middle if every stage has its own group.

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "analyse/job/job_data.h"

namespace sonde::detail {
namespace {

// What a kind is to one of its members.
using Part = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t, std::string,
                        std::size_t, int>;  // name, dtype, sizes, group, its size, direction

int direction_of(const SharedKind& kind, std::int32_t rank) {
  if (kind.of != CollectiveClass::Send) return 0;
  const int is_forward = kind.destination > kind.source ? 1 : 2;
  return rank == kind.source ? is_forward : -is_forward;
}

class RoleFinder {
 public:
  explicit RoleFinder(JobData& data) : data_(data) {}

  void run() {
    find_members();
    find_parts();
    divide_by_groups();
  }

 private:
  void find_members() {
    members_.resize(data_.kinds.size());
    groups_.resize(data_.kinds.size(), 0);
    for (const Match& match : data_.matches) {
      std::vector<std::uint32_t>& members = members_[match.kind];
      groups_[match.kind] = match.group;
      if (!match.is_usable() || members.size() >= match.count) continue;
      members.clear();
      for (const Member& member : data_.of(match)) members.push_back(member.rank);
    }
  }

  void find_parts() {
    std::map<Part, std::uint32_t> parts;
    std::vector<std::vector<std::uint32_t>> of_rank(data_.ranks.size());
    for (std::size_t k = 0; k < members_.size(); ++k) {
      const SharedKind& kind = data_.kinds[k];
      const JobGroup& group = data_.report.groups[groups_[k]];
      for (const std::uint32_t rank : members_[k]) {
        const Part part(kind.name, kind.dtype, kind.in_elements, kind.out_elements,
                        group.description, group.ranks.size(),
                        direction_of(kind, data_.ranks[rank].rank));
        of_rank[rank].push_back(
            parts.try_emplace(part, static_cast<std::uint32_t>(parts.size())).first->second);
      }
    }
    std::map<std::vector<std::uint32_t>, std::uint32_t> known;
    for (std::vector<std::uint32_t>& of : of_rank) {
      std::sort(of.begin(), of.end());
      of.erase(std::unique(of.begin(), of.end()), of.end());
      data_.roles.push_back(
          known.try_emplace(of, static_cast<std::uint32_t>(known.size())).first->second);
    }
  }

  // Ranks of one role that no group joins are in different stages, if groups join each of them to
  // others of the role.
  void divide_by_groups() {
    std::vector<std::uint32_t> forest(data_.ranks.size());
    std::iota(forest.begin(), forest.end(), 0U);
    const auto root = [&](std::uint32_t rank) {
      while (forest[rank] != rank) rank = forest[rank] = forest[forest[rank]];
      return rank;
    };
    for (std::size_t k = 0; k < members_.size(); ++k) {
      const std::vector<std::uint32_t>& members = members_[k];
      if (members.empty() || data_.kinds[k].of == CollectiveClass::Send) continue;
      const bool is_even = std::all_of(members.begin(), members.end(), [&](std::uint32_t rank) {
        return data_.roles[rank] == data_.roles[members.front()];
      });
      if (!is_even) continue;
      for (const std::uint32_t rank : members) forest[root(rank)] = root(members.front());
    }
    std::vector<std::uint32_t> sizes(data_.ranks.size(), 0);
    for (std::uint32_t r = 0; r < forest.size(); ++r) ++sizes[root(r)];
    std::vector<bool> is_alone(data_.ranks.size() + 1, false);  // of each role: somebody is
    for (std::uint32_t r = 0; r < forest.size(); ++r)
      if (sizes[root(r)] == 1) is_alone[data_.roles[r]] = true;
    const auto roles = static_cast<std::uint32_t>(data_.ranks.size());
    std::vector<std::uint32_t> divided = data_.roles;
    for (std::uint32_t r = 0; r < forest.size(); ++r)
      if (!is_alone[data_.roles[r]]) divided[r] = roles + root(r);
    data_.roles = std::move(divided);
  }

  JobData& data_;
  std::vector<std::vector<std::uint32_t>> members_;  // of each kind
  std::vector<std::uint32_t> groups_;                // of each kind
};

}  // namespace

void find_roles(JobData& data) {
  RoleFinder(data).run();
  for (std::uint32_t r = 0; r < data.roles.size(); ++r) data.of_role[data.roles[r]].push_back(r);
}

}  // namespace sonde::detail
