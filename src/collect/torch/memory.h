// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::torch {

// Turns on or off the recording of everything that torch's allocators report, on all threads.
void report_memory(bool on);
// Of what the calling thread allocates and frees nothing is recorded.
void set_memory_quiet(bool quiet);

}  // namespace sonde::torch
