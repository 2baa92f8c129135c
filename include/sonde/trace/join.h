// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Several traces as one, such as those of a job's ranks on the job's clock.
//
//   TraceJoin join;
//   join.add(first, {.rank = 0});
//   join.add(second, {.rank = 1, .clock = {.offset_ns = -1'200}});
//   SONDE_TRY(const Trace all, std::move(join).build());
//
// Every process, track and row is kept; nothing of different traces becomes one. Takes memory for
// all of them together. Not thread-safe.

#include <cstdint>

#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/builder.h"
#include "sonde/trace/clock_shift.h"

namespace sonde {

struct TraceJoinOptions {
  std::int32_t rank = -1;  // of those processes that do not know theirs
  ClockShift clock = {};
};

class TraceJoin {
 public:
  void add(const Trace& trace, const TraceJoinOptions& options);
  // Fails if a table has too many rows.
  Result<Trace> build() &&;

 private:
  TraceBuilder builder_;
};

}  // namespace sonde
