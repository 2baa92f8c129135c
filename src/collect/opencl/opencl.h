// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// OpenCL's declarations, and the functions below this layer.

#define CL_TARGET_OPENCL_VERSION 300       // NOLINT(readability-identifier-naming)
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS  // NOLINT(readability-identifier-naming)
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // NOLINT(readability-identifier-naming)
#include <CL/cl.h>
#include <CL/cl_layer.h>

namespace sonde::opencl {

// The functions that the program would have called without us. Complete once the loader has
// initialised the layer.
const cl_icd_dispatch& next();

}  // namespace sonde::opencl
