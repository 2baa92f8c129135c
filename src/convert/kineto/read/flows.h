// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Arrows between spans, from the events that begin (s), continue (t) and end (f) them.

#include <cstdint>
#include <string_view>
#include <vector>

#include "convert/kineto/read/extras.h"
#include "convert/kineto/read/joined.h"
#include "convert/kineto/read/span_rows.h"

namespace sonde {

// A flow whose id is not a number.
struct ForeignFlow {
  FlowId flow;
  std::string_view id;  // raw
};

// The last span before a stretch, and the stretch's first flows that belong to it.
struct SpanBefore {
  std::uint32_t stretch = 0;
  std::uint32_t span = 0;  // counted in its own stretch, as is its track
  std::uint32_t track = 0;
  std::vector<std::uint32_t> flows;
};
// One for each stretch. Call it before spans are released.
std::vector<SpanBefore> spans_before(const std::vector<Staged>& stretches);

// Fills builder.flows() by track and time of the earlier end, and changes nothing else in the
// builder. `placed` gets the rows of ends that have extras. Spans must be filled, in row order.
std::vector<ForeignFlow> fill_flows(TraceBuilder& builder, const Joined& joined,
                                    const SpanRows& rows, const std::vector<SpanBefore>& before,
                                    PlacedFlows& placed);

}  // namespace sonde
