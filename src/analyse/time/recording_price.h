// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sonde/trace.h"

namespace sonde::detail {

// What it cost to record a span with all that was recorded of it, in events, which are halves of a
// warm scope; device work costs nothing besides its call. `with_memory`: allocations were recorded.
double recording_events(const Trace& trace, SpanId span, bool with_memory);
// … and an allocation or free.
double allocation_events() noexcept;
// What an event cost; 0: not known, another program recorded.
double event_ns(const Trace& trace);

}  // namespace sonde::detail
