// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CUDA: kernels, copies and waits of a program's GPUs, and the calls behind them.
//
// Link the CMake target Sonde::cuda; that is enough. Profilers then record Activity::Cuda unless
// they leave it out:
//
//   sonde::Profiler prof({.record = {.activities = {sonde::Activity::Cpu,
//   sonde::Activity::Cuda}}});
//
// Recording needs CUPTI, which comes with the CUDA toolkit and with torch. If CUPTI or the driver
// is missing, or another profiler uses it, recording continues without it and the ledger says why.

namespace sonde::cuda {

// As in torch.h: the library calls it when it is loaded.
void attach();

}  // namespace sonde::cuda
