// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "sonde/trace.h"

namespace sonde::detail {

// How many bytes of its storage a tensor spans, by its sizes, strides and type; 0 if these are
// unknown.
std::int64_t tensor_bytes(const Trace& trace, OpArgumentId argument);

// The bytes of one element; 0 if its type is unknown.
std::int64_t element_bytes(const Trace& trace, OpArgumentId argument);

}  // namespace sonde::detail
