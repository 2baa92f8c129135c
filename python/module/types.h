// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The types of the module. Each file adds its own.

#include <vector>

#include "py.h"
#include "sonde/analyse/events.h"
#include "sonde/trace.h"

namespace sonde::python {

bool add_table_types(PyObject* module);
bool add_trace_type(PyObject* module);
bool add_events_types(PyObject* module);
bool add_profiler_type(PyObject* module);
bool add_observer_type(PyObject* module);
bool add_range_type(PyObject* module);
bool add_calls(PyObject* module);

// New references; null: an exception is set.
PyObject* new_trace(Trace trace);
PyObject* new_table(const Trace& trace, const char* name);
PyObject* new_events(EventList events);

}  // namespace sonde::python
