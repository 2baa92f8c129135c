// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The arrows of a trace that has none, from spans.launch.

#include "sonde/trace.h"

namespace sonde {

// One flow from every call that launches work to each kernel, copy or fill it launched, as Kineto
// draws them. Calls without device work, and work without a call, get none.
FlowTable launch_flows(const Trace& trace);

}  // namespace sonde
