// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Time. Events are stamped with raw ticks: the processor's counter where it runs at one rate on
// all cores, CLOCK_MONOTONIC_RAW otherwise. Anchors tie ticks to nanoseconds; a TickMap made of
// them turns a recording's ticks into nanoseconds since the Unix epoch and says how far off it may
// be.

#include <cstdint>
#include <span>
#include <vector>

namespace sonde {

enum class TickSource : std::uint8_t { Counter, Monotonic };

// Decided once per process. SONDE_CLOCK=monotonic in the environment forces the fallback.
TickSource tick_source();
// One read of the clock that tick_source() names.
std::uint64_t read_ticks();

// The three clocks at one moment. Made by reading the ticks before and after the other two, many
// times over, and keeping the tightest.
struct ClockAnchor {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;   // CLOCK_MONOTONIC_RAW
  std::int64_t realtime_ns = 0;    // since the Unix epoch
  std::uint64_t spread_ticks = 0;  // between the two looks: the anchor is off by at most half of it
};
ClockAnchor take_anchor();

std::int64_t monotonic_ns();
std::int64_t thread_cpu_ns();

// Piecewise linear through the anchors, extended beyond them at the rate of the whole; steps of
// the system's clock do not show, since only the first anchor's real time is used.
class TickMap {
 public:
  // Anchors in any order; without any, a tick is a nanosecond since the epoch.
  explicit TickMap(std::vector<ClockAnchor> anchors);

  std::int64_t to_ns(std::uint64_t ticks) const;
  // The straight piece that `ticks` lies on, for converting many neighbouring ticks.
  struct Segment {
    std::uint64_t first = 1;  // valid for first <= ticks < last; none at first
    std::uint64_t last = 0;
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
    double rate = 1;
    bool covers(std::uint64_t t) const { return t >= first && t < last; }
    std::int64_t to_ns(std::uint64_t t) const;
  };
  Segment segment_at(std::uint64_t ticks) const;
  double ns_per_tick() const { return rate_; }
  // The largest of: half an anchor's spread, and how far an inner anchor lies off the straight line
  // between its neighbours.
  std::int64_t error_ns() const { return error_ns_; }

 private:
  struct Knot {
    std::uint64_t ticks;
    std::int64_t ns;
    double rate;  // from here to the next
  };
  std::vector<Knot> knots_;
  double rate_ = 1.0;
  std::int64_t error_ns_ = 0;
};

// Times that someone else took from CLOCK_REALTIME, on the clock of a TickMap. Between anchors the
// difference of the two is interpolated, before and after them it stays.
class RealtimeMap {
 public:
  RealtimeMap(const TickMap& clock, const std::vector<ClockAnchor>& anchors);
  std::int64_t to_ns(std::int64_t realtime_ns) const;

 private:
  struct Knot {
    std::int64_t realtime_ns;
    std::int64_t difference_ns;  // what is added there
  };
  std::vector<Knot> knots_;  // ascending
};

}  // namespace sonde
