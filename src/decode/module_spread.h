// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sonde/trace/builder.h"

namespace sonde {

// Gives each span the module of the span around it, and each gradient the module of its forward
// operator. Spans that have a module keep it.
void spread_modules(TraceBuilder& builder);

}  // namespace sonde
