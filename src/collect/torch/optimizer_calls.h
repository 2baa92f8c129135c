// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which calls of optimizers end a step. A program may have several optimizers, and one round of its
// loop calls all of them: D G D G, or D D D G. A round is known by the place that was seen first,
// and of several calls there in a row by the first.
//
//   OptimizerCalls calls;
//   if (calls.end_step(place)) …
//
// How many calls there are in a row shows only after the first round: until then, each ends a step.

#include <cstdint>
#include <utility>

namespace sonde::torch {

class OptimizerCalls {
 public:
  // `place` says where the program called: equal numbers, equal places.
  bool end_step(std::uint64_t place) {
    const bool is_again = std::exchange(last_, place) == place && has_marker_;
    if (has_marker_ && place == marker_) return end_step_at_marker(is_again);
    // If the loop came round without the marker, it calls from elsewhere now, as after a warm-up.
    const bool has_moved = is_again || (other_ != marker_ && place == other_);
    if (has_marker_ && !has_moved) {
      if (other_ == marker_) other_ = place;
      return false;
    }
    has_marker_ = true;
    marker_ = other_ = place;
    run_ = is_again ? 2 : 1;
    run_before_ = 0;
    return true;
  }

 private:
  // More calls in a row are steps each: the other optimizer steps only now and then.
  static constexpr std::uint32_t kMostInARow = 10;

  bool end_step_at_marker(bool is_again) {
    other_ = marker_;
    if (!is_again) run_before_ = std::exchange(run_, 0);
    ++run_;
    return !is_again || run_ > run_before_ || run_before_ > kMostInARow;
  }

  bool has_marker_ = false;
  std::uint64_t marker_ = 0;      // the place that ends steps
  std::uint64_t last_ = 0;        // of the last call
  std::uint64_t other_ = 0;       // the first other place since the marker; the marker: none
  std::uint32_t run_ = 0;         // calls of the marker in a row
  std::uint32_t run_before_ = 0;  // … in the row before
};

}  // namespace sonde::torch
