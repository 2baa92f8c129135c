// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How much of what is in a trace. Trace::counts() gives it without decoding the events of a
// recording that knows its own numbers.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sonde/trace/tables_gen.h"

namespace sonde {

struct StepCounts {
  std::uint64_t count = 0;
  std::int64_t first = -1;  // the lowest number
  std::int64_t last = -1;
  Nanos total_ns = 0;

  void add(std::int64_t number, Nanos duration_ns);
  friend bool operator==(const StepCounts& a, const StepCounts& b) {
    return a.count == b.count && a.first == b.first && a.last == b.last && a.total_ns == b.total_ns;
  }
};

struct TraceCounts {
  std::map<SpanKind, std::uint64_t> spans_by_kind;
  std::vector<std::uint64_t> spans_of_track;  // by row of the tracks
  StepCounts steps;
  std::uint64_t spans = 0;
  std::uint64_t instants = 0;
  std::uint64_t counters = 0;
  std::uint64_t allocations = 0;
  // Nothing if it is known only once the events are decoded: arrows have two ends.
  std::optional<std::uint64_t> flows = 0;

  bool empty() const { return spans == 0 && instants == 0 && counters == 0 && allocations == 0; }
};

}  // namespace sonde
