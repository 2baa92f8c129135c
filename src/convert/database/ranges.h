// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds the range that a call was made in, from times alone.

#include <cstdint>
#include <span>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

struct TimeRange {
  Nanos start_ns = 0;
  Nanos end_ns = 0;
  std::uint32_t line = 0;  // only ranges and calls on the same line are compared
};

constexpr std::uint32_t kNoRange = 0xffffffff;

// For each call, the range around it on its line that began last, or kNoRange. As in PyTorch, a
// range must begin strictly before the call and end strictly after it.
std::vector<std::uint32_t> innermost_ranges(std::span<const TimeRange> ranges,
                                            std::span<const TimeRange> calls);

}  // namespace sonde
