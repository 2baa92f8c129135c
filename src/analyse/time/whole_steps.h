// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// The steps on threads, in the order of their rows. Steps that were inferred leave one behind that
// nothing ended but the recording: it holds the end of the program, and is no step.
std::vector<SpanId> whole_steps(const Trace& trace);

}  // namespace sonde::detail
