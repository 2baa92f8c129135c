// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Names of CUDA's functions by CUPTI's numbers (its callback ids). nvprof stores only the numbers.
// A number never changes once it is assigned. The list has the functions that programs spend time
// in.

#include <cstdint>
#include <string>

#include "sonde/trace.h"

namespace sonde {

// `kind` is CudaRuntime or CudaDriver. For an unknown number: "runtime call 17".
std::string cuda_call_name(SpanKind kind, std::int64_t number);

}  // namespace sonde
