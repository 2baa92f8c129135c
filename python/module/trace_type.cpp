// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A trace: its tables, and the answers of the program `sonde`.

#include <optional>
#include <string>

#include "cli/answers.h"
#include "columns.h"
#include "sonde/open.h"
#include "sonde/view/trace_page.h"
#include "types.h"

namespace sonde::python {
namespace {

PyTypeObject* trace_type = nullptr;

const Trace& trace_of(PyObject* self) {
  return value_of<Trace>(self);
}

PyObject* trace_table(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "s", &name) == 0) return nullptr;
  return new_table(trace_of(self), name);
}

PyObject* trace_events(PyObject* self, PyObject* /*none*/) {
  EventList events;
  {
    const WithoutLock unlocked;
    events = function_events(trace_of(self));
  }
  return new_events(std::move(events));
}

PyObject* trace_string(PyObject* self, PyObject* args) {
  unsigned int id = 0;
  if (PyArg_ParseTuple(args, "I", &id) == 0) return nullptr;
  return text(trace_of(self).string(StringId(static_cast<std::uint32_t>(id))));
}

PyObject* trace_first_ns(PyObject* self, void*) {
  return PyLong_FromLongLong(trace_of(self).first_ns());
}
PyObject* trace_last_ns(PyObject* self, void*) {
  return PyLong_FromLongLong(trace_of(self).last_ns());
}

// Returns what `answer` prints. Runs without the interpreter's lock.
template <typename Answer>
PyObject* answered(Answer answer) {
  cli::Output out;
  std::optional<Error> failed;
  {
    const WithoutLock unlocked;
    if (const Result<void> done = answer(out); !done) failed = done.error();
  }
  return failed ? raise(*failed) : text(out.take());
}

cli::Format format_of(std::string_view name) {
  if (name == "json") return cli::Format::Json;
  return name == "csv" ? cli::Format::Csv : cli::Format::Text;
}

PyObject* trace_report(PyObject* self, PyObject* args) {
  cli::ReportCommand options;
  const char* file = nullptr;
  const char* format = nullptr;
  if (PyArg_ParseTuple(args, "ss", &file, &format) == 0) return nullptr;
  options.file = file;
  options.format = format;
  return answered([&](cli::Output& out) { return answer_report(trace_of(self), options, out); });
}

PyObject* trace_memory(PyObject* self, PyObject* args) {
  cli::MemoryCommand options;
  const char* file = nullptr;
  const char* format = nullptr;
  const char* device = nullptr;
  const char* output = nullptr;
  if (PyArg_ParseTuple(args, "ssssi", &file, &format, &device, &output, &options.row_limit) == 0)
    return nullptr;
  options.file = file;
  options.device = device;
  options.output = output;
  options.format = format_of(format);
  return answered([&](cli::Output& out) { return answer_memory(trace_of(self), options, out); });
}

PyObject* trace_graphs(PyObject* self, PyObject* args) {
  cli::GraphsCommand options;
  const char* file = nullptr;
  const char* format = nullptr;
  if (PyArg_ParseTuple(args, "ssi", &file, &format, &options.row_limit) == 0) return nullptr;
  options.file = file;
  options.format = format_of(format);
  return answered([&](cli::Output& out) { return answer_graphs(trace_of(self), options, out); });
}

PyObject* trace_critical_path(PyObject* self, PyObject* args) {
  cli::CriticalPathCommand options;
  const char* file = nullptr;
  const char* format = nullptr;
  if (PyArg_ParseTuple(args, "ssi", &file, &format, &options.row_limit) == 0) return nullptr;
  options.file = file;
  options.format = format_of(format);
  return answered(
      [&](cli::Output& out) { return answer_critical_path(trace_of(self), options, out); });
}

PyObject* trace_what_if(PyObject* self, PyObject* args) {
  cli::WhatIfCommand options;
  const char* file = nullptr;
  const char* format = nullptr;
  PyObject* scale = nullptr;
  PyObject* remove = nullptr;
  int no_sync = 0;
  if (PyArg_ParseTuple(args, "ssO!O!p", &file, &format, &PyList_Type, &scale, &PyList_Type, &remove,
                       &no_sync) == 0 ||
      !copy_texts(scale, options.scale) || !copy_texts(remove, options.remove))
    return nullptr;
  options.file = file;
  options.format = format_of(format);
  options.no_sync = no_sync != 0;
  return answered([&](cli::Output& out) -> Result<void> {
    SONDE_TRY_VOID(check(options));
    return answer_whatif(trace_of(self), options, out);
  });
}

PyObject* trace_export(PyObject* self, PyObject* args) {
  cli::ExportCommand options;
  const char* file = nullptr;
  const char* output = nullptr;
  const char* metric = nullptr;
  if (PyArg_ParseTuple(args, "sss", &file, &output, &metric) == 0) return nullptr;
  options.file = file;
  options.output = output;
  options.metric = metric;
  return answered([&](cli::Output& /*out*/) -> Result<void> {
    SONDE_TRY_VOID(check(options));
    SONDE_TRY_VOID(cli::not_onto_itself(options.file, options.output));
    return answer_export(trace_of(self), options);
  });
}

PyObject* trace_page_file(PyObject* self, PyObject* args) {
  TracePageOptions options;
  const char* file = nullptr;
  const char* output = nullptr;
  const char* at = nullptr;
  Py_ssize_t most_spans = 0;
  if (PyArg_ParseTuple(args, "sssn", &file, &output, &at, &most_spans) == 0) return nullptr;
  options.at = at;
  if (most_spans > 0) options.most_spans = static_cast<std::size_t>(most_spans);
  return answered([&](cli::Output& /*out*/) -> Result<void> {
    SONDE_TRY_VOID(cli::not_onto_itself(file, output));
    return save_trace_page(trace_of(self), output, file, options);
  });
}

PyMethodDef trace_methods[] = {
    {"table", trace_table, METH_VARARGS, "table(name): one of table_names()."},
    {"string", trace_string, METH_VARARGS, "string(id): a text by its number."},
    {"events", trace_events, METH_NOARGS, "PyTorch's list of events."},
    {"report", trace_report, METH_VARARGS, "report(file, format): what `sonde report` prints."},
    {"memory", trace_memory, METH_VARARGS,
     "memory(file, format, device, output, row_limit): what `sonde memory` prints or writes."},
    {"graphs", trace_graphs, METH_VARARGS,
     "graphs(file, format, row_limit): what `sonde graphs` prints."},
    {"critical_path", trace_critical_path, METH_VARARGS,
     "critical_path(file, format, row_limit): what `sonde critical-path` prints."},
    {"what_if", trace_what_if, METH_VARARGS,
     "what_if(file, format, scale, remove, no_sync): what `sonde whatif` prints."},
    {"export", trace_export, METH_VARARGS,
     "export(file, output, metric): what `sonde export` writes."},
    {"page", trace_page_file, METH_VARARGS,
     "page(file, output, at, most_spans): what `sonde view -o` writes."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef trace_getset[] = {
    {"first_ns", trace_first_ns, nullptr, "When the trace begins.", nullptr},
    {"last_ns", trace_last_ns, nullptr, "When it ends.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot trace_slots[] = {{Py_tp_doc, const_cast<char*>("A recording.")},
                             {Py_tp_dealloc, slot(free_holder<Trace>)},
                             {Py_tp_methods, trace_methods},
                             {Py_tp_getset, trace_getset},
                             {0, nullptr}};

PyObject* open_file(PyObject* /*module*/, PyObject* args) {
  const char* path = nullptr;
  unsigned int threads = 0;
  int limit_size = 1;
  if (PyArg_ParseTuple(args, "sIp", &path, &threads, &limit_size) == 0) return nullptr;
  std::optional<Result<Trace>> trace;
  {
    const WithoutLock unlocked;
    trace.emplace(open_trace(path, {.threads = threads, .limit_size = limit_size != 0}));
  }
  if (!*trace) return raise(trace->error());
  return new_trace(**trace);
}

PyObject* names_of_tables(PyObject* /*module*/, PyObject* /*none*/) {
  std::vector<std::string> names;
  for (const std::string_view name : table_names()) names.emplace_back(name);
  return texts(names);
}

PyMethodDef trace_functions[] = {
    {"open", open_file, METH_VARARGS, "open(path, threads, limit_size): a trace from a file."},
    {"table_names", names_of_tables, METH_NOARGS, "The tables that every trace has."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_trace_type(PyObject* module) {
  trace_type = make_type(module, "sonde._native.Trace", sizeof(Holder<Trace>), trace_slots);
  return trace_type != nullptr && PyModule_AddFunctions(module, trace_functions) == 0;
}

PyObject* new_trace(Trace trace) {
  return hold(trace_type, std::move(trace));
}

}  // namespace sonde::python
