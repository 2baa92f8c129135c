// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Traces drawn as text, for tests. One column is one microsecond, the first is time 0.
//
//   sketch(R"(
//       main           aaaaaaaa..     # a run of one letter is a span of that name
//       main           .bb.cccc>.     # deeper rows below; > ends a span that is unfinished
//       gpu0/stream7   ....kkkk..     # a kernel on stream 7 of device 0
//   )");
//
// A label is `main` or any other word (a thread of that name), `threadN`, or `gpuN/streamM`, each
// after `procP/` or `rankP/` if there are several processes.

#include <string>
#include <string_view>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde::testing {

// The message names the row of a drawing that makes no sense.
Result<Trace> parse_sketch(std::string_view drawing);

// The same for tests, which a bad drawing ends with its message.
Trace sketch(std::string_view drawing);

// dump_text() as one text.
std::string trace_text(const Trace& trace);

}  // namespace sonde::testing
