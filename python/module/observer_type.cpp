// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The observer that writes execution traces.

#include "observer.h"
#include "types.h"

namespace sonde::python {
namespace {

using Observer = std::shared_ptr<ExecutionTraceObserver>;

PyTypeObject* observer_type = nullptr;

ExecutionTraceObserver& observer_of(PyObject* self) {
  return *value_of<Observer>(self);
}

PyObject* observer_register(PyObject* self, PyObject* args) {
  const char* path = nullptr;
  if (PyArg_ParseTuple(args, "s", &path) == 0) return nullptr;
  const Result<void> done = observer_of(self).register_callback(path);
  return done ? none() : raise(done.error());
}

PyObject* observer_unregister(PyObject* self, PyObject*) {
  Result<void> done;
  {
    const WithoutLock unlocked;
    done = observer_of(self).unregister_callback();
  }
  return done ? none() : raise(done.error());
}

PyObject* observer_start(PyObject* self, PyObject*) {
  observer_of(self).start();
  return none();
}
PyObject* observer_stop(PyObject* self, PyObject*) {
  observer_of(self).stop();
  return none();
}
PyObject* observer_cleanup(PyObject* self, PyObject*) {
  {
    const WithoutLock unlocked;
    observer_of(self).cleanup();
  }
  return none();
}
PyObject* observer_registered(PyObject* self, void*) {
  return boolean(observer_of(self).is_registered());
}
PyObject* observer_running(PyObject* self, void*) {
  return boolean(observer_of(self).is_running());
}
PyObject* observer_path(PyObject* self, void*) {
  return text(observer_of(self).output_file_path());
}

PyMethodDef observer_methods[] = {
    {"register_callback", observer_register, METH_VARARGS, nullptr},
    {"unregister_callback", observer_unregister, METH_NOARGS, nullptr},
    {"start", observer_start, METH_NOARGS, nullptr},
    {"stop", observer_stop, METH_NOARGS, nullptr},
    {"cleanup", observer_cleanup, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef observer_getset[] = {{"is_registered", observer_registered, nullptr, nullptr, nullptr},
                                 {"is_running", observer_running, nullptr, nullptr, nullptr},
                                 {"path", observer_path, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot observer_slots[] = {{Py_tp_doc, const_cast<char*>("Writes an execution trace.")},
                                {Py_tp_dealloc, slot(free_holder<Observer>)},
                                {Py_tp_methods, observer_methods},
                                {Py_tp_getset, observer_getset},
                                {0, nullptr}};

PyObject* make_observer(PyObject* /*module*/, PyObject* /*none*/) {
  return hold(observer_type, std::make_shared<ExecutionTraceObserver>());
}

PyMethodDef observer_functions[] = {
    {"observer", make_observer, METH_NOARGS, "An observer that writes an execution trace."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_observer_type(PyObject* module) {
  observer_type =
      make_type(module, "sonde._native.Observer", sizeof(Holder<Observer>), observer_slots);
  return observer_type != nullptr && PyModule_AddFunctions(module, observer_functions) == 0;
}

std::shared_ptr<ExecutionTraceObserver> observer_in(PyObject* object) {
  return Py_TYPE(object) == observer_type ? value_of<Observer>(object) : nullptr;
}

}  // namespace sonde::python
