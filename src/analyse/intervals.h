// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

struct Interval {
  Nanos begin_ns;
  Nanos end_ns;
};

// A damaged trace may have spans of centuries: their sum is then wrong, but defined.
inline void add_ns(Nanos& total_ns, Nanos more_ns) {
  static_cast<void>(__builtin_add_overflow(total_ns, more_ns, &total_ns));
}

// The time that at least one of them covers.
inline Nanos covered_ns(std::vector<Interval> all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  Nanos total_ns = 0;
  Nanos reached_ns = all.empty() ? 0 : all.front().begin_ns;
  for (const Interval& one : all) {
    const Nanos from_ns = std::max(one.begin_ns, reached_ns);
    if (one.end_ns <= from_ns) continue;
    total_ns += one.end_ns - from_ns;
    reached_ns = one.end_ns;
  }
  return total_ns;
}

}  // namespace sonde::detail
