// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CUDA: kernels, copies and waits of a program's GPUs, and the calls behind them.
//
//   sonde::cuda::attach();                                   // once, anywhere before the profiler
//   sonde::Profiler prof({.activities = {sonde::Activity::Cpu, sonde::Activity::Cuda}});
//
// Recording needs CUPTI, which comes with the CUDA toolkit and with torch. If CUPTI or the driver
// is missing, or another profiler uses it, recording continues without it and the ledger says why.

namespace sonde::cuda {

// Adds the source to all sessions that begin from now on.
void attach();

}  // namespace sonde::cuda
