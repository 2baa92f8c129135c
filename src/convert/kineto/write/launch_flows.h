// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The arrows of a trace that has none, made from spans.launch.

#include "sonde/trace.h"

namespace sonde {

// One flow from every launching call to each kernel, copy or fill that it launched, as Kineto draws
// them. Calls without device work, and work without a call, get none.
FlowTable launch_flows(const Trace& trace);

}  // namespace sonde
