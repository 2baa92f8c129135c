// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A trace as text for people and for tests. The same trace always gives the same text, and a
// difference in any column shows.
//
//   track 0: thread 43 "main"
//     0.000 us +10.000 us step
//       1.000 us +4.000 us conv2d [cpu_op]
//
// Times count from the trace's first time and are exact to the nanosecond.

#include <functional>
#include <string>
#include <string_view>

#include "sonde/trace.h"

namespace sonde {

// Takes one line without its line break; returns whether to continue.
using LineSink = std::function<bool(std::string_view line)>;

// Prints line by line, so that memory does not depend on the size of the trace.
void dump_text(const Trace& trace, const LineSink& sink);
std::string dump_text(const Trace& trace);

}  // namespace sonde
