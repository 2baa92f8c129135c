// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Time. Events are stamped with raw ticks: the processor's counter if it runs at the same rate on
// all cores, CLOCK_MONOTONIC_RAW otherwise. Anchors tie ticks to nanoseconds. A TickMap made from
// them converts a recording's ticks to nanoseconds since the Unix epoch and gives the possible
// error.

#include <cstdint>
#include <span>
#include <vector>

namespace sonde {

enum class TickSource : std::uint8_t { Counter, Monotonic };

// Decided at the first call. SONDE_CLOCK=monotonic in the environment forces the fallback.
TickSource tick_source();
// Switches to the fallback if the calling thread may no longer read the counter (PR_SET_TSC of
// prctl). Call it when a recording begins. True if the source has changed.
bool review_tick_source();
// Call it before the calling thread forbids itself to read the counter. Its ticks then come from
// the kernel's clock, converted to those of the counter; they are about a microsecond off.
void give_up_counter();
bool has_given_up_counter();
// Call it at a thread's first record: the thread that created it may have given up the counter.
void follow_counter();
// Lets the calling thread read the counter, whatever the thread that created it may do. Use it only
// on Sonde's own threads.
void allow_counter();
// Reads the clock of tick_source() once.
std::uint64_t read_ticks();

// The three clocks at one moment. The ticks are read before and after the other two, many times,
// and the tightest reading is kept.
struct ClockAnchor {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;   // CLOCK_MONOTONIC_RAW
  std::int64_t realtime_ns = 0;    // since the Unix epoch
  std::uint64_t spread_ticks = 0;  // between the two reads; the error is at most half of it
};
ClockAnchor take_anchor();

std::int64_t monotonic_ns();
// Nanoseconds since the Unix epoch. Works before it is known whether the counter may be read.
std::int64_t realtime_ns();
std::int64_t thread_cpu_ns();

// Piecewise linear between the anchors, and extended beyond them at the overall rate. Steps of the
// system clock do not show, because only the first anchor's real time is used.
class TickMap {
 public:
  // Takes anchors in any order. Without any, a tick is a nanosecond since the epoch.
  explicit TickMap(std::vector<ClockAnchor> anchors);

  std::int64_t to_ns(std::uint64_t ticks) const;
  // The segment that contains `ticks`, for converting many neighbouring ticks.
  struct Segment {
    std::uint64_t first = 1;  // valid for first <= ticks < last; empty at first
    std::uint64_t last = 0;
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
    double rate = 1;
    bool covers(std::uint64_t t) const { return t >= first && t < last; }
    // In the header because readers call it for each event.
    std::int64_t to_ns(std::uint64_t t) const {
      // Clamped, because a damaged stamp may have any value.
      constexpr double kFarthest = 4e18;
      double away = static_cast<double>(static_cast<std::int64_t>(t - ticks)) * rate;
      if (!(away > -kFarthest)) away = -kFarthest;
      if (away > kFarthest) away = kFarthest;
      // To the nearest, halves away from 0, as std::llround() does.
      auto whole = static_cast<std::int64_t>(away);
      const double part = away - static_cast<double>(whole);
      whole += (part >= 0.5 ? 1 : 0) - (part <= -0.5 ? 1 : 0);
      std::int64_t sum = 0;
      return __builtin_add_overflow(ns, whole, &sum) ? ns : sum;
    }
  };
  Segment segment_at(std::uint64_t ticks) const;
  double ns_per_tick() const { return rate_; }
  // The larger of half an anchor's spread, and the distance of an inner anchor from the straight
  // line between its neighbours.
  std::int64_t error_ns() const { return error_ns_; }

 private:
  struct Knot {
    std::uint64_t ticks;
    std::int64_t ns;
    double rate;  // from here to the next anchor
  };
  std::vector<Knot> knots_;
  double rate_ = 1.0;
  std::int64_t error_ns_ = 0;
};

// Converts times that others read from CLOCK_REALTIME to the clock of a TickMap. Between anchors
// the difference of the two is interpolated; before and after them it is constant.
class RealtimeMap {
 public:
  RealtimeMap(const TickMap& clock, const std::vector<ClockAnchor>& anchors);
  std::int64_t to_ns(std::int64_t realtime_ns) const;

 private:
  struct Knot {
    std::int64_t realtime_ns;
    std::int64_t difference_ns;  // what is added at this point
  };
  std::vector<Knot> knots_;  // ascending
};

}  // namespace sonde
