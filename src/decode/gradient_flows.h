// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sonde/trace/builder.h"

namespace sonde {

// Adds an arrow from each operator to its gradient, as in PyTorch: found by the sequence number and
// the logical thread of the operator. If several operators have the same number, the one that began
// last gets the arrow; of several gradients, the one that ended first.
void add_gradient_flows(TraceBuilder& builder);

}  // namespace sonde
