// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The views of the page beside the timeline: what each shows, as JSON. A view is added here, and in
// viewer/src/views/ for the page.

#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"
#include "view/timeline/trace_answers.h"

namespace sonde::detail {

// Those that a page has. "operators-shapes" is one of its own. Only the views that are not of the
// trace, if the trace is empty; the timeline and few others, if it has the ranks of a job.
std::vector<std::string_view> view_names(const TraceAnswers& answers);

// An error if there is no view of that name.
Result<std::string> view_json(const TraceAnswers& answers, std::string_view name);

}  // namespace sonde::detail
