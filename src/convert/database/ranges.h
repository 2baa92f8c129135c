// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which range a call was made in, from their times alone.

#include <cstdint>
#include <span>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

struct TimeRange {
  Nanos start_ns = 0;
  Nanos end_ns = 0;
  std::uint32_t line = 0;  // where it happened: only what happened on one line is compared
};

constexpr std::uint32_t kNoRange = 0xffffffff;

// For each call the range on its line that began last of those that it lies inside, or kNoRange.
// Inside means, as in PyTorch, that the range begins before the call and ends after it, both
// strictly.
std::vector<std::uint32_t> innermost_ranges(std::span<const TimeRange> ranges,
                                            std::span<const TimeRange> calls);

}  // namespace sonde
