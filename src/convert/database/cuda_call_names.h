// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Names of CUDA's functions by the numbers that CUPTI gives them (its callback ids). nvprof stores
// the numbers alone. They never change once given; these are the functions that programs spend time
// in.

#include <cstdint>
#include <string>

#include "sonde/trace.h"

namespace sonde {

// `kind` is CudaRuntime or CudaDriver. "runtime call 17" for one that is not known here.
std::string cuda_call_name(SpanKind kind, std::int64_t number);

}  // namespace sonde
