// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// LibTorch's operators as nodes of an execution trace while one is written
// (include/sonde/profile/execution_trace.h): a callback of its own, whether or not a session
// records.

namespace sonde::torch {

void attach_execution_trace();
// At the end of the program, while torch still knows its callbacks.
void end_execution_trace();

}  // namespace sonde::torch
