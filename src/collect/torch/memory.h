// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::torch {

// Whether every allocation and free that torch's allocators report is recorded, on all threads.
void report_memory(bool on);

}  // namespace sonde::torch
