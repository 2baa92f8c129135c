// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Arrows between spans, from the events that begin (s), pass on (t) and end (f) them.

#include <string_view>
#include <vector>

#include "convert/kineto_read_extras.h"
#include "convert/kineto_read_joined.h"
#include "convert/kineto_read_spans.h"

namespace sonde {

// A flow whose id is no number.
struct ForeignFlow {
  FlowId flow;
  std::string_view id;  // raw
};

// Fills builder.flows() by track and time of the earlier end, and touches nothing else of it; says
// in `placed` where ends with extras went. Spans must be there, in row order.
std::vector<ForeignFlow> fill_flows(TraceBuilder& builder, const Joined& joined,
                                    const SpanRows& rows, PlacedFlows& placed);

}  // namespace sonde
