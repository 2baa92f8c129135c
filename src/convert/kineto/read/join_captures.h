// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Links work that a graph ran to the call that captured it.

#include "sonde/trace/builder.h"

namespace sonde {

// Before: `captured_by` of kernels and copies holds the number of a call (its correlation), as in
// the file. After: it holds the call's span. The number of a missing call becomes an extra.
void join_captures(TraceBuilder& builder);

}  // namespace sonde
