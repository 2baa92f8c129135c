// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds clocks that no offset and drift fit, because somebody set them during the recording.

#include <algorithm>
#include <utility>

#include "analyse/job/clock_edges.h"

namespace sonde::detail {
namespace {

// Of the collectives of a clock that was set, more than so many contradict it.
constexpr double kContradicted = 0.25;

// Counts a contradiction for both of its clocks.
void contradict(const std::vector<ClockEdge>& collective,
                std::map<std::uint32_t, SetClock>& contradicted) {
  const ClockEdge* last = nullptr;
  const ClockEdge* first = nullptr;
  double shortest_ns = kNever;
  for (const ClockEdge& edge : collective) {
    shortest_ns = std::min(shortest_ns, edge.end_ns - edge.start_ns);
    if (edge.may_be_last && (last == nullptr || edge.start_ns > last->start_ns)) last = &edge;
    if (edge.must_be_after && (first == nullptr || edge.end_ns < first->end_ns)) first = &edge;
  }
  if (last->clock == first->clock) return;
  const double by_ns = violation(collective);
  for (const std::uint32_t clock : {last->clock, first->clock}) {
    SetClock& one = contradicted[clock];
    ++one.collectives;
    one.worst_ns = std::max(one.worst_ns, by_ns);
    one.wrong_by_ns = std::max(one.wrong_by_ns, by_ns + std::max(shortest_ns, 0.0));
  }
}

std::vector<std::uint64_t> collectives_of_clocks(
    const std::vector<std::vector<ClockEdge>>& collectives, std::size_t clocks) {
  std::vector<std::uint64_t> counts(clocks, 0);
  std::vector<std::size_t> counted(clocks, SIZE_MAX);
  for (std::size_t i = 0; i < collectives.size(); ++i)
    for (const ClockEdge& edge : collectives[i])
      if (std::exchange(counted[edge.clock], i) != i) ++counts[edge.clock];
  return counts;
}

}  // namespace

double violation(const std::vector<ClockEdge>& collective) {
  double last = -kNever;
  double first = kNever;
  for (const ClockEdge& edge : collective) {
    if (edge.may_be_last) last = std::max(last, edge.start_ns);
    if (edge.must_be_after) first = std::min(first, edge.end_ns);
  }
  return last == -kNever || first == kNever ? 0 : std::max(0.0, last - first);
}

std::map<std::uint32_t, SetClock> find_set_clocks(
    const std::vector<std::vector<ClockEdge>>& collectives, std::size_t clocks, double allowed_ns) {
  std::map<std::uint32_t, SetClock> found;
  std::vector<std::vector<ClockEdge>> left;
  for (const std::vector<ClockEdge>& collective : collectives)
    if (violation(collective) > allowed_ns) left.push_back(collective);
  if (left.size() < 2) return found;
  const std::vector<std::uint64_t> counts = collectives_of_clocks(collectives, clocks);
  while (!left.empty()) {
    std::map<std::uint32_t, SetClock> contradicted;
    for (const std::vector<ClockEdge>& collective : left) contradict(collective, contradicted);
    for (auto& [clock, one] : contradicted) one.of = counts[clock];
    std::erase_if(contradicted, [](const auto& one) {
      return static_cast<double>(one.second.collectives) <=
             kContradicted * static_cast<double>(one.second.of);
    });
    std::uint64_t most = 1;
    for (const auto& [clock, one] : contradicted) most = std::max(most, one.collectives);
    if (most < 2) break;
    for (const auto& [clock, one] : contradicted)
      if (one.collectives == most) found[clock] = one;
    for (std::vector<ClockEdge>& collective : left)
      std::erase_if(collective, [&](const ClockEdge& edge) { return found.contains(edge.clock); });
    std::erase_if(left, [&](const std::vector<ClockEdge>& collective) {
      return violation(collective) <= allowed_ns;
    });
  }
  return found;
}

}  // namespace sonde::detail
