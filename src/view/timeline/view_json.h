// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// One function a view; views.cpp lists them.

#include <string>

#include "sonde/result.h"
#include "view/timeline/trace_answers.h"

namespace sonde::detail {

std::string overview_json(const TraceAnswers& answers);
std::string operators_json(const TraceAnswers& answers, const GroupBy& by);
std::string kernels_json(const TraceAnswers& answers);
std::string modules_json(const TraceAnswers& answers);
std::string flame_json(const TraceAnswers& answers);
std::string memory_json(const TraceAnswers& answers);
// What was alive on a device of answers.memory() at a time since the start of the trace.
Result<std::string> memory_moment_json(const TraceAnswers& answers, std::size_t device, Nanos at);
// Whether the trace is one of several ranks.
bool has_communication(const Trace& trace);
std::string communication_json(const TraceAnswers& answers);
std::string ledger_json(const TraceAnswers& answers);

}  // namespace sonde::detail
