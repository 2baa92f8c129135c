// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What torch does because somebody listens to it, measured once in the process with small operators
// on a thread of its own, which the program's settings of its threads do not reach. Nothing is
// measured while other callbacks would see these operators.
//
//   measure_torch_costs(kOperatorCosts, run_quietly);   // begins, unless it was done
//   finish_measuring();                                 // waits for it, while torch is still there

#include <atomic>
#include <cstdint>

namespace sonde::torch {

// In picoseconds; 0: not measured.
struct TorchCosts {
  std::atomic<std::uint64_t> callback{0};    // of an operator, without its inputs
  std::atomic<std::uint64_t> gradient{0};    // more, for a gradient: the names of its two ranges
  std::atomic<std::uint64_t> typed_name{0};  // more, if its name is its C++ type
  std::atomic<std::uint64_t> tensor{0};      // handing over one tensor of the inputs
  std::atomic<std::uint64_t> list{0};        // … a list of numbers
  std::atomic<std::uint64_t> allocation{0};  // noting an allocation or a free
};
const TorchCosts& torch_costs() noexcept;

// Calls body on the calling thread, of which nothing is recorded meanwhile.
using RunQuietly = void(void (*body)());

// Gradients are measured if the program has some: else their engine might not have started yet.
inline constexpr unsigned kOperatorCosts = 1;
inline constexpr unsigned kGradientCosts = 2;
inline constexpr unsigned kAllocationCosts = 4;
// Returns at once. What was asked for before is not measured again.
void measure_torch_costs(unsigned wanted, RunQuietly* run_quietly);
void finish_measuring();
// Nothing is measured from here on.
void end_measuring();

}  // namespace sonde::torch
