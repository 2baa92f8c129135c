// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The functions of OpenCL that put kernels, copies and fills into queues.

#include "collect/opencl/opencl.h"

namespace sonde::opencl {

// Ours in place of those that are there.
void put_enqueues_into(cl_icd_dispatch& functions);

}  // namespace sonde::opencl
