// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which steps of a program are recorded.
//
//   Schedule plan = schedule({.wait = 1, .warmup = 1, .active = 3, .repeat = 2});
//   plan(0);                                                    // ProfilerAction::None
//   Schedule own = [](std::int64_t step) { return step == 7 ? ProfilerAction::RecordAndSave
//                                                           : ProfilerAction::None; };
//
// A Schedule is a function from the step's number to what the profiler does in it. It is copied
// into the profiler and called once per step, on the thread that calls `Profiler::step`.

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "sonde/result.h"

namespace sonde {

// The numbers are PyTorch's.
enum class ProfilerAction : std::uint8_t {
  None = 0,
  Warmup = 1,         // sources are ready, nothing is kept
  Record = 2,         // the step belongs to a cycle
  RecordAndSave = 3,  // the same, and it is the last of the cycle
  // The device stopped before the end of the cycle. Set by the profiler; a schedule must not return
  // it.
  DeviceStopped = 4,
};

class Schedule {
 public:
  // No schedule: every step is recorded, all in one cycle, without spans for steps.
  Schedule() = default;

  template <typename F,
            typename = std::enable_if_t<std::is_invocable_r_v<ProfilerAction, F&, std::int64_t> &&
                                        !std::is_same_v<std::decay_t<F>, Schedule>>>
  Schedule(F function) : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor)

  // A schedule that cannot be followed: a profiler given it reports `error` and records nothing.
  explicit Schedule(Failure error) : status_(std::move(error)) {}

  const Result<void>& status() const { return status_; }
  // Whether it is more than the default.
  bool given() const { return function_ != nullptr || !status_; }

  // None for a negative step, and for every step if status() is an error.
  ProfilerAction operator()(std::int64_t step) const {
    if (!status_ || step < 0) return ProfilerAction::None;
    return function_ ? function_(step) : ProfilerAction::Record;
  }

 private:
  std::function<ProfilerAction(std::int64_t)> function_;
  Result<void> status_;
};

// All are numbers of steps, except `repeat` (cycles) and `skip_first_wait` (yes or no).
struct ScheduleOptions {
  std::int64_t wait = 0;             // at the start of each cycle, not recorded
  std::int64_t warmup = 0;           // then prepared, not recorded
  std::int64_t active = 0;           // then recorded; required
  std::int64_t repeat = 0;           // 0: for ever
  std::int64_t skip_first = 0;       // once, before the first cycle
  std::int64_t skip_first_wait = 0;  // not 0: the first cycle has no `wait`
};

// First skip_first steps that do nothing, then cycles of wait + warmup + active steps. The last
// active step is RecordAndSave, so `active = 1` never gives Record. Impossible values give a
// Schedule whose status() is the error. `warmup = 0` gives a warning, because the first recorded
// step then also pays for preparing.
Schedule schedule(const ScheduleOptions& options);

}  // namespace sonde
