// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A trace as the bytes that a page without a server carries: what the service would answer, and the
// spans as columns.
//
//   bytes of the header │ header, JSON │ columns
//
// The header has the trace, the views, names, facts and where each column is. A column is a list of
// numbers, each in groups of seven bits, the lowest first, with the eighth bit set while more
// follow:
//
//   start    since the previous span of its track, or since the start of the trace
//   length
//   name     place in the header's names
//   look     SpanClass, plus 128 if the end was not seen
//   row      of its track
//   facts    place in the header's facts; 0: none
//   launch   1 + the span that launched it; 0: none. For work and waits of devices only
//   flows    three numbers an arrow: from, to, kind
//   copies   two numbers a copy or fill: its place, its bytes
//   spans    its row in the whole trace, less the row before: only if a part was cut out

#include <cstdint>
#include <string>

#include "view/timeline/curves.h"
#include "view/timeline/trace_answers.h"

namespace sonde::detail {

struct PageDataOptions {
  std::size_t most_spans = 1'000'000;  // beyond that, a stretch of time is cut out
  Nanos from = 0;                      // where that stretch begins
  std::string at;                      // the state that the page opens with
};

std::string page_data(const TraceAnswers& answers, const PageDataOptions& options);

}  // namespace sonde::detail
