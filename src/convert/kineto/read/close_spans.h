// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Spans that consist of two events: B and E on one thread, or b and e anywhere under one id.

#include <string_view>
#include <vector>

#include "convert/kineto/read/joined.h"
#include "convert/kineto/read/track_reader.h"

namespace sonde {

// What the end of a span adds to it.
struct SpanEnd {
  Place span;
  TrackId end_track;       // invalid if it ended on the track where it began
  std::string_view begin;  // the events that began and ended it
  std::string_view end;
};

// Gives staged spans their durations. Adds a ledger row for spans without an end and one for ends
// without a beginning.
std::vector<SpanEnd> close_spans(TraceBuilder& builder, Joined& joined, const TrackReader& tracks);

// Keeps the keys of the event that ended a span as extras of the span. A key that the beginning
// event has too gets the prefix "end.".
void keep_end(TraceBuilder& builder, SpanId span, const SpanEnd& end);

}  // namespace sonde
