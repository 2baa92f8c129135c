// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// LibTorch's operators as ranges of other tools while emit_nvtx or emit_itt wants them
// (include/sonde/profile/ranges.h): a callback of its own, whether or not a session records.

namespace sonde::torch {

void attach_tool_ranges();
// At the end of the program, while torch still knows its callbacks.
void end_tool_ranges();

}  // namespace sonde::torch
