// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What recording costs the program, by path. Our callbacks are timed at one event in kTimedEvery,
// in the program's own threads; what torch does around them is measured apart (torch_costs.h).
//
//   add_cost(CostPath::End, cost_clock_ns() - before);   // from any thread
//   tell_costs();                                        // while a session records

#include <ATen/record_function.h>

#include <cstdint>

#include "collect/torch/torch_costs.h"

namespace sonde::torch {

// A prime, so that a program that repeats itself is not timed at the same operators only.
constexpr std::uint32_t kTimedEvery = 31;

enum class CostPath : std::uint8_t { Begin, End, Inputs, Stack, Allocation };
constexpr std::uint32_t kCostPaths = 5;

std::int64_t cost_clock_ns() noexcept;
// Time between two reads of that clock.
void add_cost(CostPath path, std::int64_t ns) noexcept;
// An operator that is timed: what torch must do depends on its name and its inputs.
void add_timed_operator(const at::RecordFunction& fn, bool has_inputs) noexcept;
// After an operator that was timed: begins to measure torch when there is reason to, and tells the
// recording what is known each time that twice as much is.
void follow_costs(RunQuietly* run_quietly);

// Writes what is known so far into the recording.
void tell_costs();

// Times the parts of one event. Use one per thread.
class CostWatch {
 public:
  void start() noexcept { since_ns_ = cost_clock_ns(); }
  void stop() noexcept { since_ns_ = 0; }
  // What was done since the last call was on this path.
  void lap(CostPath path) noexcept {
    if (since_ns_ == 0) return;
    const std::int64_t now_ns = cost_clock_ns();
    add_cost(path, now_ns - since_ns_);
    since_ns_ = now_ns;
  }

 private:
  std::int64_t since_ns_ = 0;  // 0: off
};

}  // namespace sonde::torch
