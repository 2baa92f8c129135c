// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A trace that is decoded when its events are first asked for. Until then it has an outline:
// processes, tracks, windows, metadata, ledger and counts.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// How many operators have what.
struct OperatorDetails {
  std::uint64_t inputs = 0;
  std::uint64_t stacks = 0;
  std::uint64_t gradients = 0;
};

class LazyTrace {
 public:
  // Reads all of it. The strings of the result begin with those that are passed, so that ids which
  // were given out keep their meaning. Called at most once, on the thread that asks first.
  using Read = std::function<Result<Trace>(StringPool strings)>;

  // If reading fails, the trace keeps its outline, and its ledger says why.
  static Trace make(const Trace& outline, TraceCounts counts, Read read,
                    std::optional<OperatorDetails> operators = std::nullopt);

  // Besides Trace::counts(); nothing if the events are decoded already, or must be for it.
  static std::optional<OperatorDetails> operator_details(const Trace& trace);
};

struct Trace::Unread {
  Trace outline;
  TraceCounts counts;
  std::optional<OperatorDetails> operators;
  LazyTrace::Read read;
  std::once_flag once;
  Trace decoded;
};

}  // namespace sonde
