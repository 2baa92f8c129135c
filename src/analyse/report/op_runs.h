// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Operators that a program calls again and again in the same order: loops that could be one call.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// Calls `visit` with every list of operators directly inside the same span, in order. Python
// functions do not count as spans here. The lists inside a span come before the list that the span
// is in.
void visit_siblings(const Trace& trace, const std::function<void(std::span<const SpanId>)>& visit);

struct OpRun {
  std::span<const SpanId> ops;  // part of the given list
  std::size_t period = 0;       // how many of them repeat
  std::size_t repeats() const { return ops.size() / period; }
};

// Stretches of at most 16 names that repeat at least 10 times.
std::vector<OpRun> op_runs(const Trace& trace, std::span<const SpanId> siblings);

}  // namespace sonde::detail
