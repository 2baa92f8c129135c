// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CUDA: kernels, copies and waits of a program's GPUs, and the calls behind them.
//
// Link the CMake target Sonde::cuda, nothing else. Profilers then record Activity::Cuda by default.
// To choose:
//
//   using sonde::Activity;
//   sonde::Profiler prof({.record = {.activities = {Activity::Cpu, Activity::Cuda}}});
//
// Recording needs CUPTI, which comes with the CUDA toolkit and with torch. If CUPTI or the driver
// is missing, or another profiler uses it, recording continues without it and the ledger says why.

namespace sonde::cuda {

// The library calls this when it is loaded; see sonde::torch::attach().
void attach();

}  // namespace sonde::cuda
