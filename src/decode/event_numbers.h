// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sonde/trace/builder.h"

namespace sonde {

// Numbers the calls of Python functions from 1, as PyTorch does, and gives each the number of the
// call around it. A call of a module, "nn.Module: Linear_2", has the number of the module.
void number_python_calls(TraceBuilder& builder);

// Gives operators, annotations and calls their place in the recorder's list, which PyTorch's files
// call "Ev Idx".
void number_events(TraceBuilder& builder);

}  // namespace sonde
