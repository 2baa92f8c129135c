// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// sonde._native: the C++ library for the package `sonde`, which is what users import.

#include <cstring>
#include <vector>

#include "py.h"
#include "sonde/version.h"
#include "types.h"

namespace sonde::python {

namespace {

PyObject* refuse_new(PyTypeObject* /*type*/, PyObject* /*args*/, PyObject* /*kwargs*/) {
  PyErr_SetString(PyExc_TypeError, "objects of this type are made by Sonde's functions");
  return nullptr;
}

}  // namespace

PyTypeObject* make_type(PyObject* module, const char* name, int bytes, PyType_Slot* slots) {
  std::vector<PyType_Slot> all = {{Py_tp_new, slot(refuse_new)}};
  for (; slots->slot != 0; ++slots) all.push_back(*slots);
  all.push_back({0, nullptr});
  PyType_Spec spec = {name, bytes, 0, Py_TPFLAGS_DEFAULT, all.data()};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) return nullptr;
  Py_INCREF(type);
  if (PyModule_AddObject(module, std::strrchr(name, '.') + 1, type) != 0) {
    Py_DECREF(type);
    Py_DECREF(type);
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(type);
}

namespace {

// There is one recorder in a process, and its answers belong to one interpreter.
bool is_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError,
                  "sonde works in the main interpreter of a process, not in a subinterpreter");
  return false;
}

// A subinterpreter gets a copy of a module that the main interpreter has loaded, without asking us.
PyObject* check_interpreter(PyObject* /*module*/, PyObject* /*none*/) {
  return is_main_interpreter() ? none() : nullptr;
}

PyMethodDef module_functions[] = {
    {"check_interpreter", check_interpreter, METH_NOARGS, "ImportError in a subinterpreter."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "sonde._native",
                          "Sonde's C++ library. Use the package sonde instead.",
                          -1,
                          module_functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace sonde::python

PyMODINIT_FUNC PyInit__native(void) {
  using namespace sonde::python;  // NOLINT(google-build-using-namespace): a C function's body
  if (!is_main_interpreter()) return nullptr;
  Ref module(PyModule_Create(&definition));
  if (!module || !add_table_types(module.get()) || !add_trace_type(module.get()) ||
      !add_events_types(module.get()) || !add_profiler_type(module.get()) ||
      !add_observer_type(module.get()) || !add_range_type(module.get()) || !add_calls(module.get()))
    return nullptr;
  if (PyModule_AddStringConstant(module.get(), "version", SONDE_VERSION) != 0) return nullptr;
  return module.release();
}
