// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>

#include "py.h"
#include "sonde/profile/execution_trace.h"

namespace sonde::python {

// Null for None and for any other object that is not one of ours.
std::shared_ptr<ExecutionTraceObserver> observer_in(PyObject* object);

}  // namespace sonde::python
