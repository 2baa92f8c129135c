// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The arguments of an operator by PyTorch's rules: what it shows of which, and how.

#include <ATen/record_function.h>

#include "sonde/source/op_inputs.h"

namespace sonde::torch {

// Records the inputs of the operator that was just begun, and which tensors they are if wanted.
void record_inputs(const at::RecordFunction& fn, OpInputs& scratch, bool with_tensors);

}  // namespace sonde::torch
