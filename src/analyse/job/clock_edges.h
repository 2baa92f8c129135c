// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a collective says about clocks for sure: no member ends before the last one has begun.

#include <cstdint>
#include <map>
#include <vector>

namespace sonde::detail {

inline constexpr double kNever = 4e18;

// A member's begin and end, on the job's clock as estimated.
struct ClockEdge {
  std::uint32_t clock;
  double start_ns;
  double end_ns;
  bool may_be_last;    // its start bounds the ends
  bool must_be_after;  // its end is bounded
};

// By how much an end precedes a begin that it must follow.
double violation(const std::vector<ClockEdge>& collective);

// A clock that was set while the job ran: how many collectives contradict it, and how wrong it is.
struct SetClock {
  std::uint64_t collectives = 0;
  std::uint64_t of = 0;
  double worst_ns = 0;
  double wrong_by_ns = 0;  // at most
};

// Those that are in most of the contradictions by more than `allowed_ns`, then those that are in
// most of the rest.
std::map<std::uint32_t, SetClock> find_set_clocks(
    const std::vector<std::vector<ClockEdge>>& collectives, std::size_t clocks, double allowed_ns);

}  // namespace sonde::detail
