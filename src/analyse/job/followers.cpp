// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which collectives follow directly on another one of the same rank. They are queued behind it, or
// need what it brings, so they are late if it ends late, whatever the rank computes meanwhile.

#include <algorithm>

#include "analyse/job/job_data.h"

namespace sonde::detail {
namespace {

// From the end of one to the begin of the next: of kernels, and on threads of the host.
constexpr Nanos kDirectlyNs = 20'000;
constexpr Nanos kDirectlyOnHostNs = 100'000;
constexpr Nanos kRoundedNs = 2'000;  // a begin may seem to be before the end

std::vector<std::uint32_t> followers_of(const std::vector<RankCollective>& all) {
  std::vector<std::uint32_t> by_end(all.size());
  for (std::uint32_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return all[a].end_ns < all[b].end_ns; });
  std::vector<std::uint32_t> follows(all.size(), kNoMatch);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const bool on_host = (all[i].flags & RankCollective::kOnHost) != 0;
    const Nanos start_ns = all[i].start_ns;
    auto last = std::upper_bound(
        by_end.begin(), by_end.end(), start_ns,
        [&](Nanos t, std::uint32_t one) { return t < all[one].end_ns - kRoundedNs; });
    if (last != by_end.begin() && *std::prev(last) == i) --last;  // shorter than what is rounded
    if (last == by_end.begin()) continue;
    const RankCollective& before = all[*std::prev(last)];
    if (before.start_ns < start_ns &&
        start_ns - before.end_ns < (on_host ? kDirectlyOnHostNs : kDirectlyNs))
      follows[i] = *std::prev(last);
  }
  return follows;
}

}  // namespace

void find_followers(JobData& data) {
  for (const RankSummary& rank : data.ranks) data.follows.push_back(followers_of(rank.collectives));
}

}  // namespace sonde::detail
