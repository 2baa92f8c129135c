// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sonde/trace/builder.h"

namespace sonde {

// Gives spans the module of what they belong to: what runs inside a span its module, and a gradient
// that of its forward operator. Spans that have a module keep it.
void spread_modules(TraceBuilder& builder);

}  // namespace sonde
