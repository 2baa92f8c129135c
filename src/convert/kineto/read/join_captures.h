// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Work that a graph ran, joined to the call that captured it.

#include "sonde/trace/builder.h"

namespace sonde {

// `captured_by` of kernels and copies holds the number of a call (its correlation), as the file has
// it; afterwards it is the call's span. The number of a call that is not there becomes an extra.
void join_captures(TraceBuilder& builder);

}  // namespace sonde
