// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What was copied between host and devices, and which copies could be cheaper.
//
//   const CopyTimes copies = copy_times(trace);
//   for (const CopyTotal& total : copies.totals) std::cout << total.bytes << "\n";
//   std::cout << copies.pageable.size() << " copies from or to memory that is not pinned\n";

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

// Copies from one kind of memory to another.
struct CopyTotal {
  CopyKind kind = CopyKind::Unknown;
  MemoryKind source = MemoryKind::Unknown;
  MemoryKind destination = MemoryKind::Unknown;
  std::uint64_t count = 0;
  std::int64_t bytes = 0;
  Nanos device_ns = 0;  // their durations added up
};
// "HtoD, Pageable to Device"
std::string to_string(const CopyTotal& total);

// One copy as the host sees it.
struct CopyTime {
  SpanId span;
  std::int64_t bytes = 0;
  // From its start to its end, or to the end of its call if that returns later.
  Nanos time_ns = 0;
  SpanId earlier;  // of data that went back: the copy from the device
};

struct CopyTimes {
  std::vector<CopyTotal> totals;   // longest first
  std::vector<CopyTime> pageable;  // one end is pageable host memory
  // Data that may have come to the host and gone back: a copy to the device with the size of an
  // earlier copy from it, from the same kind of memory, each matched once. The time is that of both
  // directions.
  std::vector<CopyTime> returned;
};

CopyTimes copy_times(const Trace& trace);

}  // namespace sonde
