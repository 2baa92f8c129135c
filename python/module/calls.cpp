// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls of Python functions as spans: by sys.monitoring from CPython 3.12 on, and by the profile
// hook before that. Everything here runs with the interpreter's lock.

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "call_names.h"
#include "open_calls.h"
#include "sonde/source/op.h"
#include "types.h"

namespace sonde::python {
namespace {

// What CPython tells its profile hook; the limited API does not name it.
enum Event { kCall = 0, kReturn = 3, kCallC = 4, kRaiseC = 5, kReturnC = 6 };

using Hook = int(PyObject* object, PyFrameObject* frame, int what, PyObject* argument);
using SetHook = void(Hook* hook, PyObject* object);

struct HookSetters {
  SetHook* here = nullptr;
  PyThreadState* (*first_thread)(PyInterpreterState*) = nullptr;
  PyThreadState* (*next_thread)(PyThreadState*) = nullptr;
};

template <typename Function>
void look_up(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

const HookSetters& setters() {
  static const HookSetters found = [] {
    HookSetters setters;
    look_up(setters.here, "PyEval_SetProfile");
    look_up(setters.first_thread, "PyInterpreterState_ThreadHead");
    look_up(setters.next_thread, "PyThreadState_Next");
    return setters;
  }();
  return found;
}

// What the package itself calls is left out, as its functions are.
std::uint32_t name_here(const OpenCalls& calls, PyObject* c_function) {
  return calls.is_in_own() ? 0 : name_of_c(c_function);
}

int on_event(PyObject* /*object*/, PyFrameObject* frame, int what, PyObject* argument) {
  OpenCalls& calls = OpenCalls::of_thread();
  auto* const here = reinterpret_cast<PyObject*>(frame);
  if (__builtin_expect(calls.is_new(), 0)) {
    const Ref caller(what == kCall ? PyObject_GetAttrString(here, "f_back") : nullptr);
    calls.begin_recording(what == kCall ? caller.get() : here);
    PyErr_Clear();
  }
  switch (what) {
    case kCall:
      calls.begin_frame(here);
      break;
    case kReturn:
      calls.end_python();
      break;
    case kCallC:
      calls.begin_c(name_here(calls, argument));
      break;
    case kRaiseC:
    case kReturnC:
      calls.end_c();
      break;
    default:
      break;
  }
  return 0;
}

// On all threads of the interpreter.
void set_hook(Hook* hook) {
  const HookSetters& set = setters();
  PyThreadState* const self = PyThreadState_Get();
  if (set.first_thread != nullptr && set.next_thread != nullptr) {
    for (PyThreadState* thread = set.first_thread(PyInterpreterState_Get()); thread != nullptr;
         thread = set.next_thread(thread)) {
      if (thread == self) continue;
      PyThreadState_Swap(thread);
      set.here(hook, nullptr);
      PyThreadState_Swap(self);
    }
  }
  set.here(hook, nullptr);
}

// Callbacks of sys.monitoring get the code and where in it something happens, and then:
//   monitor_begin: a function begins or goes on.
//   monitor_end: it returns, yields or is left by an exception.
//   monitor_call, monitor_called: what is called, and its first argument.
PyObject* monitor_begin(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) {
  if (count < 2) return none();
  OpenCalls& calls = OpenCalls::of_thread();
  if (__builtin_expect(calls.is_new(), 0)) {
    const Ref caller(
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(PyEval_GetFrame()), "f_back"));
    calls.begin_recording(caller.get());
    PyErr_Clear();
  }
  PyObject* const code = args[0];
  if (__builtin_expect(is_call_of_module(code), 0)) {
    calls.begin_frame(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  } else {
    calls.begin_python(code, name_of_code(code));
  }
  return none();
}

// This thread's calls, with those that were open before its first event.
OpenCalls& calls_at_event() {
  OpenCalls& calls = OpenCalls::of_thread();
  if (__builtin_expect(calls.is_new(), 0))
    calls.begin_recording(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  return calls;
}

PyObject* monitor_end(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) {
  if (count >= 2) calls_at_event().end_python(args[0]);
  return none();
}

// sys.monitoring tells of everything that is called. Of C, the profile hook tells of functions and
// methods only, and so does PyTorch.
const PyTypeObject* method_type() {
  static const PyTypeObject* const type = [] {
    const Ref method(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyUnicode_Type), "join"));
    return method ? Py_TYPE(method.get()) : nullptr;
  }();
  return type;
}

PyObject* monitor_call(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) {
  if (count < 4) return none();
  PyObject* const called = args[2];
  OpenCalls& calls = calls_at_event();
  calls.end_returned_c();
  if (PyCFunction_Check(called)) {
    calls.begin_c(name_here(calls, called));
  } else if (Py_TYPE(called) == method_type()) {
    calls.begin_c(calls.is_in_own() ? 0 : name_of_method(called, args[3]));
  }
  return none();
}

PyObject* monitor_called(PyObject* /*module*/, PyObject* const* args, Py_ssize_t count) {
  if (count >= 4 && (PyCFunction_Check(args[2]) || Py_TYPE(args[2]) == method_type()))
    calls_at_event().end_c();
  return none();
}

// calls_start(frame, prefixes, own, hooks, module_call): `frame` is the innermost that runs;
// `module_call` is the code of torch.nn.Module.__call__, or None.
PyObject* calls_start(PyObject* /*module*/, PyObject* args) {
  PyObject* frame = nullptr;
  PyObject* prefixes = nullptr;
  PyObject* hooks = nullptr;
  PyObject* module_call = nullptr;
  const char* own = nullptr;
  if (PyArg_ParseTuple(args, "OO!sO!O", &frame, &PyList_Type, &prefixes, &own, &PyList_Type, &hooks,
                       &module_call) == 0)
    return nullptr;
  CallNaming naming;
  if (!copy_texts(prefixes, naming.prefixes) || !copy_texts(hooks, naming.hooks)) return nullptr;
  naming.own = own;
  naming.module_call = module_call != Py_None ? module_call : nullptr;
  begin_naming(std::move(naming));
  OpenCalls::count_recording();
  OpenCalls::of_thread().begin_recording(frame);
  return none();
}

// Calls that are open on other threads end with the recording.
PyObject* calls_stop(PyObject* /*module*/, PyObject* /*none*/) {
  OpenCalls::of_thread().end_all();
  end_naming();
  return none();
}

// In a child of fork, calls that are open begin again: their recording is the parent's.
PyObject* calls_forked(PyObject* /*module*/, PyObject* /*none*/) {
  OpenCalls::count_recording();
  return none();
}

// hook_everywhere(is_on): the profile hook of all threads.
PyObject* hook_everywhere(PyObject* /*module*/, PyObject* is_on) {
  if (setters().here == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "this interpreter has no profile hook");
    return nullptr;
  }
  set_hook(PyObject_IsTrue(is_on) == 1 ? on_event : nullptr);
  return none();
}

// Call it on a thread that has just begun.
PyObject* hook_here(PyObject* /*module*/, PyObject* /*none*/) {
  setters().here(on_event, nullptr);
  return none();
}

// A span among the calls, such as that of garbage collection; whether it was recorded.
PyObject* call_begin(PyObject* /*module*/, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t bytes = 0;
  if (PyArg_ParseTuple(args, "s#", &name, &bytes) == 0) return nullptr;
  sonde_op op = {};
  op.size = sizeof(op);
  op.name = sonde_name(name, static_cast<std::size_t>(bytes));
  op.scope = SONDE_SCOPE_PYTHON_CALL;
  op.sequence_number = -1;
  return boolean(op.name != 0 && sonde_op_begin(&op) != 0);
}

PyObject* call_end(PyObject* /*module*/, PyObject* /*none*/) {
  sonde_end();
  return none();
}

// tell_path_cost(path, nanoseconds): what an event of that path costs the program.
PyObject* tell_path_cost(PyObject* /*module*/, PyObject* args) {
  const char* path = nullptr;
  double ns = 0;
  if (PyArg_ParseTuple(args, "sd", &path, &ns) == 0) return nullptr;
  if (ns > 0 && ns < 1e9) sonde_path_cost(path, static_cast<std::uint64_t>(ns * 1000));
  return none();
}

PyMethodDef calls_functions[] = {
    {"calls_start", calls_start, METH_VARARGS,
     "calls_start(frame, prefixes, own, hooks, module_call): what is open now begins."},
    {"calls_stop", calls_stop, METH_NOARGS, nullptr},
    {"calls_forked", calls_forked, METH_NOARGS, "In a child of fork."},
    {"hook_everywhere", hook_everywhere, METH_O, "hook_everywhere(is_on): on all threads."},
    {"hook_here", hook_here, METH_NOARGS, "On this thread."},
    {"monitor_begin", method(monitor_begin), METH_FASTCALL, nullptr},
    {"monitor_end", method(monitor_end), METH_FASTCALL, nullptr},
    {"monitor_call", method(monitor_call), METH_FASTCALL, nullptr},
    {"monitor_called", method(monitor_called), METH_FASTCALL, nullptr},
    {"call_begin", call_begin, METH_VARARGS, "call_begin(name): whether it was recorded."},
    {"call_end", call_end, METH_NOARGS, nullptr},
    {"tell_path_cost", tell_path_cost, METH_VARARGS,
     "tell_path_cost(path, nanoseconds): what an event of that path costs."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_calls(PyObject* module) {
  return PyModule_AddFunctions(module, calls_functions) == 0;
}

}  // namespace sonde::python
