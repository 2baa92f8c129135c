// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Groups of one size do the same collectives, and they should take as long in each. What a
// collective takes once all have arrived is its shortest duration on any rank, whatever the clocks.

#include <algorithm>
#include <map>
#include <tuple>

#include "analyse/job/job_data.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

constexpr double kLeastShareOfGroup = 0.05;  // of the job's time
constexpr double kClearlySlower = 1.5;
constexpr std::size_t kFewestCalls = 3;
constexpr std::size_t kMostSlowGroups = 8;

// What makes collectives of different groups comparable.
using SameCalls =
    std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t, std::string, std::size_t>;

struct GroupTimes {
  std::vector<double> transfers_ns;
  std::vector<Nanos> exposed_ns;  // of each, in which no member computed
};

class SlowGroupFinder {
 public:
  explicit SlowGroupFinder(JobData& data) : data_(data) {}

  void run() {
    for (const Match& match : data_.matches) add(match);
    for (auto& [calls, groups] : times_) compare(calls, groups);
    std::vector<JobSlowGroup>& found = data_.report.slow_groups;
    std::stable_sort(found.begin(), found.end(), [](const JobSlowGroup& a, const JobSlowGroup& b) {
      return a.total_ns > b.total_ns;
    });
    if (found.size() > kMostSlowGroups) found.resize(kMostSlowGroups);
  }

 private:
  void add(const Match& match) {
    const SharedKind& kind = data_.kinds[match.kind];
    const JobGroup& group = data_.report.groups[match.group];
    if (!match.is_usable() || kind.of != CollectiveClass::All || match.count < group.ranks.size())
      return;
    Nanos shortest_ns = INT64_MAX;
    Nanos exposed_ns = INT64_MAX;
    for (const Member& member : data_.of(match)) {
      const RankCollective& record = data_.record(member);
      shortest_ns = std::min(shortest_ns, record.duration_ns());
      exposed_ns = std::min(exposed_ns, record.duration_ns() - record.hidden_ns);
    }
    GroupTimes& times = times_[{kind.name, kind.dtype, kind.in_elements, kind.out_elements,
                                group.description, group.ranks.size()}][match.group];
    times.transfers_ns.push_back(static_cast<double>(shortest_ns));
    times.exposed_ns.push_back(std::max<Nanos>(exposed_ns, 0));
  }

  void compare(const SameCalls& calls, std::map<std::uint32_t, GroupTimes>& groups) {
    if (groups.size() < 2) return;
    std::map<std::uint32_t, double> usual;
    for (auto& [group, times] : groups) {
      std::vector<double> of = times.transfers_ns;
      usual[group] = median(of);
    }
    for (const auto& [group, times] : groups) {
      if (times.transfers_ns.size() < kFewestCalls) continue;
      std::vector<double> of_others;
      for (const auto& [other, ns] : usual)
        if (other != group) of_others.push_back(ns);
      const double others_ns = median(of_others);
      if (usual[group] < kClearlySlower * others_ns) continue;
      JobSlowGroup slow;
      slow.group = group;
      slow.name = std::get<0>(calls);
      const std::int64_t elements = std::max(std::get<2>(calls), std::get<3>(calls));
      slow.bytes = collective_bytes(data_.report.text(std::get<1>(calls)), elements);
      slow.calls = times.transfers_ns.size();
      slow.transfer_ns = static_cast<Nanos>(usual[group]);
      slow.others_ns = static_cast<Nanos>(others_ns);
      for (std::size_t i = 0; i < times.transfers_ns.size(); ++i) {
        const auto longer_ns = static_cast<Nanos>(times.transfers_ns[i] - others_ns);
        add_to(slow.total_ns, std::max<Nanos>(std::min(longer_ns, times.exposed_ns[i]), 0));
      }
      if (static_cast<double>(slow.total_ns) >
          kLeastShareOfGroup * static_cast<double>(data_.report.total_ns))
        data_.report.slow_groups.push_back(slow);
    }
  }

  JobData& data_;
  std::map<SameCalls, std::map<std::uint32_t, GroupTimes>> times_;
};

}  // namespace

void find_slow_groups(JobData& data) {
  SlowGroupFinder(data).run();
}

}  // namespace sonde::detail
