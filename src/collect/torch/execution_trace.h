// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes LibTorch's operators as nodes of an execution trace
// (include/sonde/profile/execution_trace.h). It has its own callback, which works whether or not a
// session records.

namespace sonde::torch {

void attach_execution_trace();
// Call it at the end of the program, while torch still has its callbacks.
void end_execution_trace();

}  // namespace sonde::torch
