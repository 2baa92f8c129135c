// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Replacements for the OpenCL functions that put kernels, copies and fills into queues.

#include "collect/opencl/opencl.h"

namespace sonde::opencl {

// Replaces the functions in the table with ours.
void put_enqueues_into(cl_icd_dispatch& functions);

}  // namespace sonde::opencl
