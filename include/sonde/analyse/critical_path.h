// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The chain of work that a program's time consists of: each part waited for the one before it. The
// program gets faster only if something on this path gets faster.
//
//   const CriticalPath path = critical_path(trace);
//   for (const PathEntry& entry : path.entries)
//     std::cout << entry.name << " " << entry.time_ns << " of " << path.length_ns << "\n";
//
// The times of all entries add up to the length. docs/metrics.md says how dependencies are
// inferred.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

enum class PathKind : std::uint8_t {
  Operator,  // an operator's own time on a thread
  Call,      // a call of a device's runtime
  Span,      // another span of a thread
  Outside,   // a thread, outside all spans
  Kernel,    // device work
  Copy,      // copies and fills
  Launch,    // from a launch to the begin of its work
  NextWork,  // from the end of work to the begin of the next
  Return,    // from the end of work until the call that waited for it returned
  WakeUp,    // from one thread to another
};
std::string_view to_string(PathKind kind) noexcept;  // "operator", …

struct PathEntry {
  PathKind kind = PathKind::Outside;
  std::string name;   // of the span; empty for Outside and for delays
  std::string where;  // the thread, or the device and its stream; empty if there are several
  Nanos time_ns = 0;
  std::uint64_t count = 0;  // spans, stretches outside all spans, or delays
  // For the first few: the length if this took no time on the path, and what would then be first.
  Nanos without_ns = -1;
  std::string next;
};

struct CriticalPath {
  Nanos length_ns = 0;
  std::vector<PathEntry> entries;                        // longest first
  std::vector<std::pair<std::string, Nanos>> by_thread;  // or stream, longest first
};

// Fills `without_ns` and `next` for that many entries. Each costs a simulation.
CriticalPath critical_path(const Trace& trace, std::size_t mended = 5);

}  // namespace sonde
