// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ranges that Python code marks, ranges for other tools, and other things that exist once per
// process.

#include <link.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <string>

#include "agent/adapter.h"
#include "cli/run/run.h"
#include "cli/setup/torch_adapters.h"
#include "python_inputs.h"
#include "sonde/profile/cuda_profiler.h"
#include "sonde/profile/ranges.h"
#include "sonde/source/op.h"
#include "sonde/source/plugin.h"
#include "sonde/source/python_stack.h"
#include "sonde/version.h"
#include "types.h"

namespace sonde::python {
namespace {

constexpr std::uint8_t kUserScope = 7;
constexpr std::uint8_t kFunctionScope = 0;
constexpr std::uint32_t kOwnFrames = 1;  // record_function.__enter__, the hook of modules

PyTypeObject* range_type = nullptr;
PyTypeObject* emit_type = nullptr;

// Whether a session wants the stacks of ranges, and what they are called with.
std::atomic<bool> stacks_wanted{false};
std::atomic<bool> inputs_wanted{false};

int prepare_ranges(void* /*self*/, const sonde_request* request, char* /*why*/,
                   std::size_t /*why_bytes*/) {
  stacks_wanted.store(request->with_stack != 0);
  inputs_wanted.store(request->record_shapes != 0);
  return 0;
}
// Counts starts, so that each recording can be told what was told to the last one.
std::atomic<unsigned> starts{0};
void count_start(void* /*self*/) {
  starts.fetch_add(1);
}
void do_nothing(void* /*self*/) {}

const sonde_plugin kRangesPlugin = {sizeof(kRangesPlugin), SONDE_ACTIVITY_CPU, "python",   nullptr,
                                    prepare_ranges,        count_start,        do_nothing, nullptr};

sonde_range begin_range(std::string_view name, const char* args, Py_ssize_t args_bytes,
                        std::uint32_t module, std::uint8_t scope = kUserScope) {
  const std::uint32_t number = sonde_name(name.data(), name.size());
  sonde_op op = {};
  op.size = sizeof(op);
  op.name = number;
  op.scope = scope;
  op.sequence_number = -1;
  const sonde_range range =
      number != 0 ? sonde_op_range_begin(&op) : sonde_range_begin(name.data(), name.size());
  if (range.position == 0) return range;
  std::uint32_t stack = 0;
  if (stacks_wanted.load(std::memory_order_relaxed)) sonde_python_stack(kOwnFrames, &stack);
  sonde_op_place(stack, module);
  if (args != nullptr) sonde_text(args, static_cast<std::size_t>(args_bytes));
  return range;
}

// None if nothing records.
PyObject* range_begin(PyObject* /*module*/, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t name_bytes = 0;
  const char* with = nullptr;
  Py_ssize_t with_bytes = 0;
  if (PyArg_ParseTuple(args, "s#z#", &name, &name_bytes, &with, &with_bytes) == 0) return nullptr;
  const sonde_range range =
      begin_range({name, static_cast<std::size_t>(name_bytes)}, with, with_bytes, 0);
  return range.position != 0 ? hold(range_type, range) : none();
}

// fast_begin(name, inputs, keywords, is_annotation): like an operator, with what it is called with.
// None if nothing records.
PyObject* fast_begin(PyObject* /*module*/, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t name_bytes = 0;
  PyObject* inputs = nullptr;
  PyObject* keywords = nullptr;
  int is_annotation = 0;
  if (PyArg_ParseTuple(args, "s#OOp", &name, &name_bytes, &inputs, &keywords, &is_annotation) == 0)
    return nullptr;
  // PyTorch reads keywords, of which the kind of range is one, only with the inputs of operators.
  const bool with_inputs = inputs_wanted.load(std::memory_order_relaxed);
  const sonde_range range =
      begin_range({name, static_cast<std::size_t>(name_bytes)}, nullptr, 0, 0,
                  with_inputs && is_annotation != 0 ? kUserScope : kFunctionScope);
  if (range.position == 0) return none();
  if (with_inputs) record_python_inputs(inputs, keywords);
  return hold(range_type, range);
}

// The number of a part of a network; 0 if nothing records.
PyObject* module_number(PyObject* /*module*/, PyObject* args) {
  unsigned int parent = 0;
  const char* name = nullptr;
  const char* class_name = nullptr;
  if (PyArg_ParseTuple(args, "Iss", &parent, &name, &class_name) == 0) return nullptr;
  return PyLong_FromUnsignedLong(sonde_module(parent, name, class_name, "forward"));
}

// Begins a call of a module. None if nothing records.
PyObject* module_begin(PyObject* /*module*/, PyObject* args) {
  unsigned int number = 0;
  const char* name = nullptr;
  Py_ssize_t name_bytes = 0;
  if (PyArg_ParseTuple(args, "Is#", &number, &name, &name_bytes) == 0) return nullptr;
  const sonde_range range =
      begin_range({name, static_cast<std::size_t>(name_bytes)}, nullptr, 0, number);
  return range.position != 0 ? hold(range_type, range) : none();
}

PyObject* tensor_role(PyObject* /*module*/, PyObject* args) {
  unsigned long long address = 0;
  unsigned int purpose = 0;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "KIs", &address, &purpose, &name) == 0) return nullptr;
  sonde_tensor_role(address, purpose, name);
  return none();
}

PyObject* range_end(PyObject* self, PyObject* /*none*/) {
  auto& range = value_of<sonde_range>(self);
  if (range.position != 0) sonde_range_end(range);
  range.position = 0;
  return none();
}

PyMethodDef range_methods[] = {{"end", range_end, METH_NOARGS, "Ends it, on any thread."},
                               {nullptr, nullptr, 0, nullptr}};
PyType_Slot range_slots[] = {{Py_tp_doc, const_cast<char*>("A range that has begun.")},
                             {Py_tp_dealloc, slot(free_holder<sonde_range>)},
                             {Py_tp_methods, range_methods},
                             {0, nullptr}};

struct Emitted {
  std::unique_ptr<emit_nvtx> nvtx;
  std::unique_ptr<emit_itt> itt;
};

// Shows operators and ranges to a tool until it is deleted.
PyObject* emit(PyObject* /*module*/, PyObject* args) {
  const char* to = nullptr;
  int shapes = 0;
  if (PyArg_ParseTuple(args, "sp", &to, &shapes) == 0) return nullptr;
  Emitted emitted;
  if (std::strcmp(to, "nvtx") == 0)
    emitted.nvtx = std::make_unique<emit_nvtx>(true, shapes != 0);
  else
    emitted.itt = std::make_unique<emit_itt>(true, shapes != 0);
  return hold(emit_type, std::move(emitted));
}

PyType_Slot emit_slots[] = {
    {Py_tp_doc, const_cast<char*>("Ranges for other tools, while it lives.")},
    {Py_tp_dealloc, slot(free_holder<Emitted>)},
    {0, nullptr}};

PyObject* itt_available(PyObject*, PyObject*) {
  return boolean(itt::is_available());
}
PyObject* itt_push(PyObject*, PyObject* args) {
  const char* message = nullptr;
  if (PyArg_ParseTuple(args, "s", &message) == 0) return nullptr;
  itt::range_push(message);
  return none();
}
PyObject* itt_pop(PyObject*, PyObject*) {
  itt::range_pop();
  return none();
}
PyObject* itt_mark(PyObject*, PyObject* args) {
  const char* message = nullptr;
  if (PyArg_ParseTuple(args, "s", &message) == 0) return nullptr;
  itt::mark(message);
  return none();
}

PyObject* cuda_start(PyObject*, PyObject*) {
  const Result<void> done = cuda::profiler::start();
  return done ? none() : raise({ErrorCode::Internal, done.error().message});
}
PyObject* cuda_stop(PyObject*, PyObject*) {
  const Result<void> done = cuda::profiler::stop();
  return done ? none() : raise({ErrorCode::Internal, done.error().message});
}

std::string loaded_torch() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (std::strstr(info->dlpi_name, "/libtorch_cpu.so") == nullptr) return 0;
        *static_cast<std::string*>(out) = info->dlpi_name;
        return 1;
      },
      &found);
  return found;
}

Result<void> attach_loaded_torch(const std::string& torch) {
  SONDE_TRY(const std::string folder, cli::library_folder());
  return attach_adapter(cli::usable_adapters(folder), torch);
}

// True if torch's operators are recorded, False if this process has no torch.
PyObject* attach_torch(PyObject*, PyObject*) {
  static bool is_attached = false;
  if (is_attached) return boolean(true);
  const std::string torch = loaded_torch();
  if (torch.empty()) return boolean(false);
  const Result<void> attached = attach_loaded_torch(torch);
  if (!attached) return raise({ErrorCode::Unsupported, attached.error().message});
  is_attached = true;
  return boolean(true);
}

PyObject* attach_cuda(PyObject*, PyObject*) {
  const auto attach = []() -> Result<void> {
    SONDE_TRY(const std::string folder, cli::library_folder());
    return attach_library(folder +
                          "/libsonde_cuda.so." SONDE_SOVERSION);  // a wheel has no other name of it
  };
  const Result<void> attached = attach();
  return attached ? none() : raise({ErrorCode::Unsupported, attached.error().message});
}

PyObject* is_recording_now(PyObject*, PyObject*) {
  return boolean(sonde_is_recording() != 0);
}

PyObject* recording_number(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLong(sonde_is_recording() != 0 ? 1 + starts.load() : 0);
}

// ranges_have(stacks, inputs): what a recording wants that began before this module was loaded.
PyObject* ranges_have(PyObject* /*module*/, PyObject* args) {
  int stacks = 0;
  int inputs = 0;
  if (PyArg_ParseTuple(args, "pp", &stacks, &inputs) == 0) return nullptr;
  if (stacks != 0) stacks_wanted.store(true);
  if (inputs != 0) inputs_wanted.store(true);
  return none();
}

PyObject* has_python_stacks(PyObject*, PyObject*) {
  return boolean(sonde_has_python() != 0);
}

PyMethodDef range_functions[] = {
    {"range_begin", range_begin, METH_VARARGS, "range_begin(name, args): None if nothing records."},
    {"fast_begin", fast_begin, METH_VARARGS,
     "fast_begin(name, inputs, keywords, is_annotation): None if nothing records."},
    {"module_number", module_number, METH_VARARGS,
     "module_number(parent, name, class_name): the number of a part of a network."},
    {"module_begin", module_begin, METH_VARARGS, "module_begin(number, name): a call of it."},
    {"tensor_role", tensor_role, METH_VARARGS,
     "tensor_role(storage_address, purpose, name): what a tensor is for."},
    {"emit", emit, METH_VARARGS, "emit('nvtx' or 'itt', record_shapes)."},
    {"itt_available", itt_available, METH_NOARGS, nullptr},
    {"itt_push", itt_push, METH_VARARGS, nullptr},
    {"itt_pop", itt_pop, METH_NOARGS, nullptr},
    {"itt_mark", itt_mark, METH_VARARGS, nullptr},
    {"cuda_profiler_start", cuda_start, METH_NOARGS, nullptr},
    {"cuda_profiler_stop", cuda_stop, METH_NOARGS, nullptr},
    {"attach_torch", attach_torch, METH_NOARGS,
     "Records the operators of the torch that this process has loaded."},
    {"attach_cuda", attach_cuda, METH_NOARGS, "Records CUDA devices."},
    {"is_recording", is_recording_now, METH_NOARGS, "Whether some session records."},
    {"ranges_have", ranges_have, METH_VARARGS,
     "ranges_have(stacks, inputs): for a recording that began before this module was loaded."},
    {"recording_number", recording_number, METH_NOARGS,
     "0 if no session records; else another number after each start of one."},
    {"has_python_stacks", has_python_stacks, METH_NOARGS,
     "Whether the frames of this interpreter can be read."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_range_type(PyObject* module) {
  sonde_add_plugin(&kRangesPlugin);
  range_type = make_type(module, "sonde._native.Range", sizeof(Holder<sonde_range>), range_slots);
  emit_type = make_type(module, "sonde._native.Emit", sizeof(Holder<Emitted>), emit_slots);
  return range_type != nullptr && emit_type != nullptr &&
         PyModule_AddFunctions(module, range_functions) == 0;
}

}  // namespace sonde::python
