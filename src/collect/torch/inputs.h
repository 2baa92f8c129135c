// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Records the arguments of an operator by PyTorch's rules: what is shown of each, and how.

#include <ATen/record_function.h>

#include "sonde/source/op_inputs.h"

namespace sonde::torch {

// Records the inputs of the operator that has just begun and, if wanted, the identity of its
// tensors.
void record_inputs(const at::RecordFunction& fn, OpInputs& scratch, bool with_tensors);

}  // namespace sonde::torch
