// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Operators of LibTorch in every session of this process: link Sonde::torch and say so once.
//
//   sonde::torch::attach();
//   sonde::Profiler prof({.output = "train.sonde", .record_shapes = true});
//
// All scopes of RecordFunction on all threads: operators, autograd's, TorchScript's,
// record_function. It works beside torch's own profiler and with a torch that was built without
// one.

namespace sonde::torch {

// Serves the sessions that begin from now on. Calling it again is nothing.
void attach();

}  // namespace sonde::torch
