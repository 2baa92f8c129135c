// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where an event was called from.

#include <string>
#include <vector>

#include "analyse/events/event_data.h"

namespace sonde::detail {

// "file(line): function", or only the function if no file is known.
std::string frame_text(const Trace& trace, FrameId frame);

// The texts of frame_text(), innermost first; at most so many. Programs that recurse have thousands
// of frames at each event.
std::vector<std::string> recorded_stack(const Trace& trace, StackId innermost,
                                        std::size_t most = kAllFrames);
// Where a span was called from: its recorded stack, else the Python functions around it.
std::vector<std::string> own_stack(const Trace& trace, SpanId span, std::size_t most = kAllFrames);

// One line for each event that has a stack and at least a microsecond of self time.
std::string collapsed_stacks(const EventData& data, bool device_time, bool each_event);

}  // namespace sonde::detail
