// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A part of a trace: some seconds, some steps, some threads, some kinds of spans.
//
//   SONDE_TRY(const Trace minute, part_of(trace, {.last_ns = 60'000'000'000}));
//
// What overlaps the part is kept whole, also if it begins before or ends after it. The ledger says
// how much was left out. OpenOptions::part does this for a file, and reads no more of it than
// needed where that is possible.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// A time in which something was not wanted, on the trace's own clock. What began in it is left out.
struct TraceGap {
  Nanos first_ns = 0;
  Nanos last_ns = 0;
  bool of_host = false;     // operators, annotations, calls of functions, allocations
  bool of_devices = false;  // work of devices, and calls of their libraries
};

struct TracePart {
  std::optional<Nanos> from_ns = std::nullopt;  // since the trace's first time
  std::optional<Nanos> to_ns = std::nullopt;
  std::optional<Nanos> last_ns = std::nullopt;  // that much before the trace's last time
  // From the first to the last of these numbers, both included.
  std::optional<std::pair<std::int64_t, std::int64_t>> steps = std::nullopt;
  // Kernel thread ids or names; empty: all. Work that these threads launched belongs to them.
  std::vector<std::string> threads = {};
  // Kinds of spans; unset: all. Instants, counters and allocations are CpuInstantEvent.
  std::optional<std::vector<SpanKind>> kinds = std::nullopt;
  std::vector<TraceGap> gaps = {};

  bool is_all() const {
    return !from_ns && !to_ns && !last_ns && !steps && threads.empty() && !kinds && gaps.empty();
  }
};

// Fails if nothing can be meant: no such step or thread, an end before its beginning.
Result<Trace> part_of(const Trace& trace, const TracePart& part);

}  // namespace sonde
