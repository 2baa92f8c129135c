// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls of Python functions as spans, by CPython's profile hook. Everything here runs with the
// interpreter's lock.

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sonde/source/op.h"
#include "types.h"

namespace sonde::python {
namespace {

// What CPython tells its hook; the limited API does not name it.
enum Event { kCall = 0, kReturn = 3, kCallC = 4, kRaiseC = 5, kReturnC = 6 };

using Hook = int(PyObject* object, PyFrameObject* frame, int what, PyObject* argument);
using SetHook = void(Hook* hook, PyObject* object);

struct HookSetters {
  SetHook* here = nullptr;
  SetHook* everywhere = nullptr;  // from 3.12 on
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
    look_up(setters.everywhere, "PyEval_SetProfileAllThreads");
    look_up(setters.first_thread, "PyInterpreterState_ThreadHead");
    look_up(setters.next_thread, "PyThreadState_Next");
    return setters;
  }();
  return found;
}

// Names of functions by what identifies them. They are kept alive, so that no other takes their
// place in memory.
struct CallNames {
  std::unordered_map<const void*, std::uint32_t> python;
  std::unordered_map<std::uint64_t, std::uint32_t> c;
  std::vector<Ref> kept;
  std::vector<std::string> prefixes;  // of file names, longer ones first
  std::string own;                    // the folder of the package

  // Names that were asked for last, by the address of their code.
  struct Recent {
    const void* code = nullptr;
    std::uint32_t name = 0;
  };
  std::array<Recent, 1024> recent;
  Recent& recent_of(const void* code) {
    return recent[(reinterpret_cast<std::uintptr_t>(code) >> 5) % recent.size()];
  }
};

// Modules of torch in one recording, which keeps them alive: "nn.Module: Linear_2" is the third
// Linear that was called.
struct ModuleNames {
  PyObject* call = nullptr;  // the code of torch.nn.Module.__call__; borrowed
  std::unordered_map<const void*, std::uint32_t> names;
  std::unordered_map<std::string, int> counts;
  std::vector<Ref> kept;
};

ModuleNames& module_names() {
  static auto* const names = new ModuleNames;
  return *names;
}

CallNames& call_names() {
  static auto* const names = new CallNames;
  return *names;
}

// The calls that are open on a thread, and whether each was recorded.
struct OpenCall {
  bool is_c;
  bool is_recorded;
};
struct ThreadCalls {
  std::vector<OpenCall> open;
  unsigned recording = 0;  // the one that they belong to
};
thread_local ThreadCalls* thread_calls = nullptr;

// Counts the recordings, from 1.
unsigned recording = 0;

ThreadCalls& calls_of_thread() {
  if (thread_calls == nullptr) thread_calls = new ThreadCalls;
  return *thread_calls;
}

std::string attribute_text(PyObject* object, const char* name) {
  const Ref value(PyObject_GetAttrString(object, name));
  const char* const found = value ? PyUnicode_AsUTF8AndSize(value.get(), nullptr) : nullptr;
  if (found == nullptr) PyErr_Clear();
  return found != nullptr ? found : "";
}

long attribute_number(PyObject* object, const char* name) {
  const Ref value(PyObject_GetAttrString(object, name));
  const long found = value ? PyLong_AsLong(value.get()) : -1;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return found;
}

std::string shortened(const std::string& file) {
  for (const std::string& prefix : call_names().prefixes) {
    if (file.compare(0, prefix.size(), prefix) == 0) return file.substr(prefix.size());
  }
  return file;
}

// 0: it is not recorded.
std::uint32_t new_name_of_code(PyObject* code) {
  CallNames& names = call_names();
  const auto known = names.python.find(code);
  if (known != names.python.end()) return known->second;
  const std::string file = attribute_text(code, "co_filename");
  std::uint32_t number = 0;
  if (file.compare(0, names.own.size(), names.own) != 0) {
    const std::string name = shortened(file) + "(" +
                             std::to_string(attribute_number(code, "co_firstlineno")) +
                             "): " + attribute_text(code, "co_name");
    number = sonde_name(name.data(), name.size());
    if (number == 0) return 0;  // nothing records yet, or any more
  }
  names.kept.push_back(Ref::borrow(code));
  names.python.emplace(code, number);
  return number;
}

std::uint32_t name_of_code(PyObject* code) {
  CallNames::Recent& recent = call_names().recent_of(code);
  if (recent.code == code) return recent.name;
  const std::uint32_t name = new_name_of_code(code);
  // Codes that are kept stay where they are.
  if (call_names().python.count(code) != 0) recent = {code, name};
  return name;
}

std::uint32_t new_name_of_module(PyObject* module) {
  ModuleNames& modules = module_names();
  const std::string kind = attribute_text(reinterpret_cast<PyObject*>(Py_TYPE(module)), "__name__");
  const std::string name = "nn.Module: " + kind + "_" + std::to_string(modules.counts[kind]);
  const std::uint32_t number = sonde_name(name.data(), name.size());
  if (number == 0) return 0;
  ++modules.counts[kind];
  modules.kept.push_back(Ref::borrow(module));
  modules.names.emplace(module, number);
  return number;
}

// A call of a module has the name of the module.
std::uint32_t name_of_frame(PyObject* frame, PyObject* code) {
  if (code != module_names().call) return name_of_code(code);
  const Ref locals(PyObject_GetAttrString(frame, "f_locals"));
  const Ref self(locals ? PyMapping_GetItemString(locals.get(), "self") : nullptr);
  if (!self) {
    PyErr_Clear();
    return name_of_code(code);
  }
  const auto known = module_names().names.find(self.get());
  return known != module_names().names.end() ? known->second : new_name_of_module(self.get());
}

// "<built-in method add of Tensor object>": an address would make every call a function of its own.
std::string text_of_c(PyObject* function) {
  const Ref shown(PyObject_Repr(function));
  const char* const found = shown ? PyUnicode_AsUTF8AndSize(shown.get(), nullptr) : nullptr;
  if (found == nullptr) {
    PyErr_Clear();
    return "<built-in>";
  }
  std::string name = found;
  const std::size_t address = name.find(" at 0x");
  if (address != std::string::npos) {
    const std::size_t end = name.find_first_not_of("0123456789abcdef", address + 6);
    name.erase(address, end == std::string::npos ? end : end - address);
  }
  return name;
}

// The definition of a C function, which follows the header of its object. Functions made by
// pybind11 have one each, but share one address.
const void* definition_of(PyObject* function) {
  const void* definition = nullptr;
  std::memcpy(static_cast<void*>(&definition),
              reinterpret_cast<const char*>(function) + sizeof(PyObject), sizeof(definition));
  return definition;
}

std::uint32_t name_of_c(PyObject* function) {
  CallNames& names = call_names();
  const bool is_plain = PyCFunction_Check(function);
  PyObject* const self = is_plain ? PyCFunction_GetSelf(function) : nullptr;
  const auto of = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  const bool is_method = self != nullptr && !PyModule_Check(self) && !PyCapsule_CheckExact(self);
  const std::uint64_t key =
      is_plain ? of(definition_of(function)) * 31 + (is_method ? of(Py_TYPE(self)) : 0)
               : of(function);
  PyErr_Clear();
  const auto known = names.c.find(key);
  if (known != names.c.end()) return known->second;
  const std::string name = text_of_c(function);
  const std::uint32_t number = sonde_name(name.data(), name.size());
  if (number == 0) return 0;
  names.kept.push_back(
      Ref::borrow(is_method ? reinterpret_cast<PyObject*>(Py_TYPE(self)) : function));
  names.c.emplace(key, number);
  return number;
}

bool begin_call(std::uint32_t name) {
  if (name == 0) return false;
  sonde_op op = {};
  op.size = sizeof(op);
  op.name = name;
  op.scope = SONDE_SCOPE_PYTHON_CALL;
  op.sequence_number = -1;
  return sonde_op_begin(&op) != 0;
}

void end_top(std::vector<OpenCall>& open) {
  if (open.back().is_recorded) sonde_end();
  open.pop_back();
}

void begin_frame(std::vector<OpenCall>& open, PyObject* frame) {
  const Ref code(
      reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame))));
  open.push_back({false, begin_call(name_of_frame(frame, code.get()))});
}

// Begins the calls that were open on this thread before its first event in a recording: those of
// `frame` and of its callers. They are seen from now on.
void begin_open_calls(std::vector<OpenCall>& open, PyObject* frame) {
  std::vector<Ref> frames;  // the innermost first
  for (Ref at = Ref::borrow(frame); at && at.get() != Py_None;
       at = Ref(PyObject_GetAttrString(frames.back().get(), "f_back"))) {
    frames.push_back(std::move(at));
  }
  PyErr_Clear();
  for (auto at = frames.rbegin(); at != frames.rend(); ++at) begin_frame(open, at->get());
}

int on_event(PyObject* /*object*/, PyFrameObject* frame, int what, PyObject* argument) {
  ThreadCalls& calls = calls_of_thread();
  std::vector<OpenCall>& open = calls.open;
  if (calls.recording != recording) {
    calls.recording = recording;
    open.clear();
    const Ref caller(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_back"));
    const bool is_new = what == kCall;
    if (!is_new) begin_open_calls(open, reinterpret_cast<PyObject*>(frame));
    if (is_new && caller && caller.get() != Py_None) begin_open_calls(open, caller.get());
    PyErr_Clear();
  }
  switch (what) {
    case kCall:
      begin_frame(open, reinterpret_cast<PyObject*>(frame));
      break;
    case kReturn:
      // C functions whose end was not told, as by 3.12 before 3.12.5.
      while (!open.empty() && open.back().is_c) end_top(open);
      if (!open.empty()) end_top(open);
      break;
    case kCallC:
      open.push_back({true, begin_call(name_of_c(argument))});
      break;
    case kRaiseC:
    case kReturnC:
      if (!open.empty() && open.back().is_c) end_top(open);
      break;
    default:
      break;
  }
  return 0;
}

// On all threads of the interpreter.
void set_hook(Hook* hook) {
  const HookSetters& set = setters();
  if (set.everywhere != nullptr) return set.everywhere(hook, nullptr);
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

bool copy_texts(PyObject* list, std::vector<std::string>& out) {
  out.clear();
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const char* const item = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), nullptr);
    if (item == nullptr) return false;
    out.emplace_back(item);
  }
  return true;
}

void forget_modules(PyObject* call) {
  ModuleNames& modules = module_names();
  modules.names.clear();
  modules.counts.clear();
  modules.call = call;
  const std::vector<Ref> released = std::exchange(modules.kept, {});  // runs code of the program
}

// calls_start(frames, prefixes, own, module_call): `frames` are those that run, the outermost
// first; `module_call` is the code of torch.nn.Module.__call__, or None.
PyObject* calls_start(PyObject* /*module*/, PyObject* args) {
  PyObject* frames = nullptr;
  PyObject* prefixes = nullptr;
  PyObject* module_call = nullptr;
  const char* own = nullptr;
  if (PyArg_ParseTuple(args, "O!O!sO", &PyList_Type, &frames, &PyList_Type, &prefixes, &own,
                       &module_call) == 0)
    return nullptr;
  if (setters().here == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "this interpreter has no profile hook");
    return nullptr;
  }
  CallNames& names = call_names();
  if (!copy_texts(prefixes, names.prefixes)) return nullptr;
  names.own = own;
  forget_modules(module_call != Py_None ? module_call : nullptr);
  ThreadCalls& calls = calls_of_thread();
  calls.recording = ++recording;
  std::vector<OpenCall>& open = calls.open;
  open.clear();
  for (Py_ssize_t i = 0; i < PyList_Size(frames); ++i) begin_frame(open, PyList_GetItem(frames, i));
  set_hook(on_event);
  return none();
}

// Calls that are open on other threads end with the recording.
PyObject* calls_stop(PyObject* /*module*/, PyObject* /*none*/) {
  set_hook(nullptr);
  std::vector<OpenCall>& open = calls_of_thread().open;
  while (!open.empty()) end_top(open);
  forget_modules(nullptr);
  return none();
}

// For a thread that has just begun.
PyObject* calls_here(PyObject* /*module*/, PyObject* /*none*/) {
  setters().here(on_event, nullptr);
  return none();
}

// A span among the calls, such as that of garbage collection; whether it was recorded.
PyObject* call_begin(PyObject* /*module*/, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t bytes = 0;
  if (PyArg_ParseTuple(args, "s#", &name, &bytes) == 0) return nullptr;
  return boolean(begin_call(sonde_name(name, static_cast<std::size_t>(bytes))));
}

PyObject* call_end(PyObject* /*module*/, PyObject* /*none*/) {
  sonde_end();
  return none();
}

PyMethodDef calls_functions[] = {
    {"calls_start", calls_start, METH_VARARGS,
     "calls_start(frames, prefixes, own, module_call): on all threads."},
    {"calls_stop", calls_stop, METH_NOARGS, nullptr},
    {"calls_here", calls_here, METH_NOARGS, "On this thread."},
    {"call_begin", call_begin, METH_VARARGS, "call_begin(name): whether it was recorded."},
    {"call_end", call_end, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_calls(PyObject* module) {
  return PyModule_AddFunctions(module, calls_functions) == 0;
}

}  // namespace sonde::python
