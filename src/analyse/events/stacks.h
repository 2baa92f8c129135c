// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where an event was called from.

#include <string>
#include <vector>

#include "analyse/events/event_data.h"

namespace sonde::detail {

// "file(line): function", or the function alone where no file is known.
std::string frame_text(const Trace& trace, FrameId frame);

// Innermost first, as frame_text() has them.
std::vector<std::string> recorded_stack(const Trace& trace, StackId innermost);
// Where a span was called from: its recorded stack, or else the Python functions around it.
std::vector<std::string> own_stack(const Trace& trace, SpanId span);

// A line for each event that has a stack and at least a microsecond of its own.
std::string collapsed_stacks(const EventData& data, bool device_time);

}  // namespace sonde::detail
