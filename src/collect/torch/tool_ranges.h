// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Shows LibTorch's operators as ranges in other tools while emit_nvtx or emit_itt asks for them
// (include/sonde/profile/ranges.h). It has its own callback, which works whether or not a session
// records.

namespace sonde::torch {

void attach_tool_ranges();
// Call it at the end of the program, while torch still has its callbacks.
void end_tool_ranges();

}  // namespace sonde::torch
