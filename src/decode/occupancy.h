// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How many blocks of a CUDA kernel fit on a multiprocessor, and what limits them, by the rules of
// NVIDIA's occupancy calculator for compute capability 5.0 and later.

#include "sonde/trace/builder.h"

namespace sonde {

// Fills the derived columns of `kernel`: blocks and warps per multiprocessor, occupancy and its
// limits. Leaves them empty if the device's properties are unknown.
//
// Dynamic shared memory counts up to what a kernel may opt in to. (Kineto uses the limit without
// opt-in, and so shows 0 % for every kernel with more than 48 KB.)
void add_occupancy(KernelRow& kernel, const DeviceRow& device, TraceBuilder& builder);

}  // namespace sonde
