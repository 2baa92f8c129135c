// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::torch {

// Turns on or off the recording of everything that torch's allocators report, on all threads.
void report_memory(bool on);

}  // namespace sonde::torch
