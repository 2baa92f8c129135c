// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A trace that is decoded when its events are first asked for. Until then it has an outline:
// processes, tracks, windows, metadata, ledger and counts.

#include <functional>
#include <mutex>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

class LazyTrace {
 public:
  // Reads all of it. The strings of the result begin with those that are passed, so that ids which
  // were given out keep their meaning. Called at most once, on the thread that asks first.
  using Read = std::function<Result<Trace>(StringPool strings)>;

  // If reading fails, the trace keeps its outline, and its ledger says why.
  static Trace make(const Trace& outline, TraceCounts counts, Read read);
};

struct Trace::Unread {
  Trace outline;
  TraceCounts counts;
  LazyTrace::Read read;
  std::once_flag once;
  Trace decoded;
};

}  // namespace sonde
