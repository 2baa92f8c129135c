// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How the times of one clock become those of another.

#include <cstdint>

#include "sonde/trace/column.h"

namespace sonde {

// What is added to the times of a trace: an offset, and a drift since a time.
struct ClockShift {
  std::int64_t offset_ns = 0;
  double drift = 0;           // per nanosecond
  Nanos origin_ns = 0;        // where the offset holds
  std::int64_t error_ns = 0;  // how far the result may be off

  Nanos shifted(Nanos time_ns) const noexcept {
    return time_ns + offset_ns +
           static_cast<Nanos>(drift * static_cast<double>(time_ns - origin_ns));
  }
};

}  // namespace sonde
