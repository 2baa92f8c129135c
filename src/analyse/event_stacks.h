// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where an event was called from.

#include <string>

#include "analyse/event_data.h"

namespace sonde::detail {

// "file(line): function", or the function alone where no file is known.
std::string frame_text(const Trace& trace, FrameId frame);

// A line for each event that has a stack and at least a microsecond of its own.
std::string collapsed_stacks(const EventData& data, bool device_time);

}  // namespace sonde::detail
