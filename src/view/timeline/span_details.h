// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All that a trace knows of one span, as JSON for a page.

#include <string>

#include "view/page.h"
#include "view/timeline/trace_answers.h"

namespace sonde::detail {

// What equal calls have in common: inputs, stack, module, geometry of a kernel, arguments. "{}" if
// there is nothing.
std::string span_facts(const TraceAnswers& answers, SpanId span);

// Its place, times, facts, neighbours, and the spans that it is linked to.
std::string span_details(const TraceAnswers& answers, SpanId span);

}  // namespace sonde::detail
