// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What fuzz targets require of every trace that was read.

#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "sonde/trace.h"
#include "trace/dump.h"

namespace sonde::testing {

inline void require(bool condition) {
  if (!condition) std::abort();
}

// What sonde/trace.h promises about every trace.
inline void check_promises(const Trace& trace) {
  const SpanTable& spans = trace.spans();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    require(spans.duration_ns[i] >= 0);
    require(!spans.parent[i].valid() || spans.parent[i].index() < i);
    require(!spans.track[i].valid() || spans.track[i].index() < trace.tracks().size());
    require(!spans.name[i].valid() || spans.name[i].index() < trace.strings().size());
    if (i == 0 || spans.track[i] != spans.track[i - 1]) continue;
    require(spans.start_ns[i] >= spans.start_ns[i - 1]);
  }
  std::size_t bytes = 0;
  dump_text(trace, [&bytes](std::string_view line) { return (bytes += line.size()) < 1'000'000; });
}

}  // namespace sonde::testing
