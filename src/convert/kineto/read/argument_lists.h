// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a call was given, from Kineto's four arrays:
//
//   "Input Dims": [[8, 4], [[2], [3]], []], "Input Strides": [[4, 1], [[1], [1]], []],
//   "Input type": ["float", "TensorList", "Scalar"], "Concrete Inputs": ["", "", "1"]
//
// gives a tensor, a list with two tensors, and a scalar with the value 1.

#include "convert/kineto/read/staged.h"
#include "sonde/trace/builder.h"

namespace sonde {

// Adds the rows of one list. Returns an invalid id and adds nothing if the arrays hold something
// that the tables cannot.
ArgumentListId add_argument_list(TraceBuilder& builder, const RawArguments& raw);

}  // namespace sonde
