// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "py.h"

namespace sonde::python {

// Records what the operator or range that this thread began last was called with: `inputs` is a
// sequence of tensors and plain values, `keywords` a dictionary of plain values; either may be
// None. What is something else is recorded as unknown, or left out of the keywords.
void record_python_inputs(PyObject* inputs, PyObject* keywords);

}  // namespace sonde::python
