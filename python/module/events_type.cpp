// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// PyTorch's events and averages. A row is a tuple that is made on demand.

#include <memory>
#include <optional>

#include "base/output_file.h"
#include "convert/kineto/write/span_arguments.h"
#include "sonde/analyse/averages.h"
#include "sonde/analyse/dynamo.h"
#include "sonde/profile/load_nvprof.h"
#include "types.h"

namespace sonde::python {
namespace {

PyTypeObject* events_type = nullptr;
PyTypeObject* averages_type = nullptr;
PyTypeObject* span_arguments_type = nullptr;

const EventList& events_of(PyObject* self) {
  return value_of<EventList>(self);
}

// The event at an index; nothing if an exception is set.
std::optional<FunctionEvent> event_at(PyObject* self, PyObject* index) {
  const Py_ssize_t at = PyLong_AsSsize_t(index);
  if (at == -1 && PyErr_Occurred() != nullptr) return std::nullopt;
  if (at < 0 || static_cast<std::size_t>(at) >= events_of(self).size()) {
    PyErr_SetString(PyExc_IndexError, "list index out of range");
    return std::nullopt;
  }
  return events_of(self)[static_cast<std::size_t>(at)];
}

Py_ssize_t events_length(PyObject* self) {
  return static_cast<Py_ssize_t>(events_of(self).size());
}

double microseconds(Nanos ns) {
  return static_cast<double>(ns) / 1000.0;
}

std::string_view activity_of(const EventList& events, const FunctionEvent& event) {
  if (!event.span().valid()) return "cpu_instant_event";
  return kineto_category(events.trace().spans().kind[event.span()]);
}

// The system's number of the thread or stream.
std::int64_t resource_of(const EventList& events, const FunctionEvent& event) {
  if (!event.span().valid()) return -1;
  const TrackId track = events.trace().spans().track[event.span()];
  return track.valid() ? events.trace().tracks().id[track] : -1;
}

// The names of these are in python/sonde/_function_event.py, in the same order.
PyObject* events_row(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> found = event_at(self, index);
  if (!found) return nullptr;
  const FunctionEvent& event = *found;
  const Trace& trace = events_of(self).trace();
  const std::string_view traced =
      event.span().valid() ? trace.name(event.span()) : std::string_view();
  return Py_BuildValue(
      "LNNddLLLiiiNNLLKddddLLnNNL", static_cast<long long>(event.id()), text(event.name()),
      text(event.overload_name()), microseconds(event.start_ns()), microseconds(event.end_ns()),
      static_cast<long long>(event.thread()), static_cast<long long>(event.forward_thread()),
      static_cast<long long>(event.sequence_number()), static_cast<int>(event.scope()),
      static_cast<int>(event.device_type()), event.device_index(), boolean(event.is_async()),
      boolean(event.is_user_annotation()), static_cast<long long>(event.cpu_memory_bytes()),
      static_cast<long long>(event.device_memory_bytes()),
      static_cast<unsigned long long>(event.flops()), event.cpu_total_us(), event.self_cpu_us(),
      event.device_total_us(), event.self_device_us(),
      static_cast<long long>(event.self_cpu_memory_bytes()),
      static_cast<long long>(event.self_device_memory_bytes()),
      event.has_parent() ? static_cast<Py_ssize_t>(event.parent().index()) : Py_ssize_t{-1},
      event.span().valid() ? text(traced) : none(), text(activity_of(events_of(self), event)),
      static_cast<long long>(resource_of(events_of(self), event)));
}

PyObject* events_shapes(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> event = event_at(self, index);
  return event ? text(event->input_shapes()) : nullptr;
}

PyObject* events_arguments(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> event = event_at(self, index);
  return event ? text(event->arguments()) : nullptr;
}

// What Kineto's JSON says of spans; an object that `of` asks.
using SpanArgumentsPtr = std::unique_ptr<SpanArguments>;

PyObject* arguments_of_span(PyObject* self, PyObject* span) {
  const unsigned long row = PyLong_AsUnsignedLong(span);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return text(value_of<SpanArgumentsPtr>(self)->of(SpanId(static_cast<std::uint32_t>(row))));
}

PyMethodDef span_arguments_methods[] = {
    {"of", arguments_of_span, METH_O, "of(span): its arguments in Kineto's JSON, \"\" if none."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot span_arguments_slots[] = {
    {Py_tp_doc, const_cast<char*>("What Kineto's JSON says of spans.")},
    {Py_tp_dealloc, slot(free_holder<SpanArgumentsPtr>)},
    {Py_tp_methods, span_arguments_methods},
    {0, nullptr}};

PyObject* events_span_arguments(PyObject* self, PyObject* /*none*/) {
  SpanArgumentsPtr made;
  {
    const WithoutLock unlocked;
    made = std::make_unique<SpanArguments>(events_of(self).trace());
  }
  return hold(span_arguments_type, std::move(made));
}

PyObject* events_stack(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> event = event_at(self, index);
  return event ? texts(event->stack()) : nullptr;
}

PyObject* events_text(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> event = event_at(self, index);
  return event ? text(to_string(*event, events_of(self).use_device())) : nullptr;
}

PyObject* events_span(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> event = event_at(self, index);
  if (!event) return nullptr;
  return event->span().valid() ? PyLong_FromUnsignedLong(event->span().value()) : none();
}

template <typename Indexes>
PyObject* list_of_numbers(std::size_t count, Indexes index_of) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; list && i < count; ++i) {
    PyObject* const number = PyLong_FromSize_t(index_of(i));
    if (number == nullptr || PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), number) != 0)
      return nullptr;
  }
  return list.release();
}

PyObject* events_kernels(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> event = event_at(self, index);
  if (!event) return nullptr;
  return list_of_numbers(event->kernel_count(),
                         [&](std::size_t i) { return event->kernel(i).index(); });
}

PyObject* events_children(PyObject* self, PyObject* index) {
  const std::optional<FunctionEvent> event = event_at(self, index);
  if (!event) return nullptr;
  const std::vector<FunctionEvent> children = event->children();
  return list_of_numbers(children.size(), [&](std::size_t i) { return children[i].index(); });
}

std::string text_or_nothing(const char* value) {
  return value != nullptr ? value : "";
}

// None: no limit.
bool parse_width(PyObject* given, std::optional<int>& width) {
  width.reset();
  if (given == Py_None) return true;
  width = static_cast<int>(PyLong_AsLong(given));
  return PyErr_Occurred() == nullptr;
}

bool parse_columns(PyObject* given, std::vector<std::string>& columns) {
  const Py_ssize_t count = PySequence_Size(given);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(given, i));
    const char* const name = item ? PyUnicode_AsUTF8AndSize(item.get(), nullptr) : nullptr;
    if (name == nullptr) return false;
    columns.emplace_back(name);
  }
  return count >= 0;
}

bool parse_table(PyObject* args, TableOptions& options) {
  const char* sort_by = nullptr;
  const char* header = nullptr;
  const char* unit = nullptr;
  PyObject* src = nullptr;
  PyObject* name = nullptr;
  PyObject* shapes = nullptr;
  PyObject* columns = nullptr;
  int top_level = 0;
  if (PyArg_ParseTuple(args, "ziOOOzpzO", &sort_by, &options.row_limit, &src, &name, &shapes,
                       &header, &top_level, &unit, &columns) == 0)
    return false;
  options.sort_by = text_or_nothing(sort_by);
  options.header = text_or_nothing(header);
  options.time_unit = text_or_nothing(unit);
  options.top_level_events_only = top_level != 0;
  return parse_width(src, options.max_src_column_width) &&
         parse_width(name, options.max_name_column_width) &&
         parse_width(shapes, options.max_shapes_column_width) &&
         parse_columns(columns, options.columns);
}

template <typename Rows>
PyObject* table_text(const Rows& rows, PyObject* args) {
  TableOptions options;
  if (!parse_table(args, options)) return nullptr;
  std::optional<Result<std::string>> table;
  {
    const WithoutLock unlocked;
    table.emplace(rows.table(options));
  }
  return *table ? text(**table) : raise(table->error());
}

PyObject* events_table(PyObject* self, PyObject* args) {
  return table_text(events_of(self), args);
}

PyObject* events_averages(PyObject* self, PyObject* args) {
  GroupBy by;
  int shapes = 0;
  int overloads = 0;
  if (PyArg_ParseTuple(args, "pip", &shapes, &by.group_by_stack_n, &overloads) == 0) return nullptr;
  by.group_by_input_shape = shapes != 0;
  by.group_by_overload_name = overloads != 0;
  KeyAverages averages;
  {
    const WithoutLock unlocked;
    averages = events_of(self).key_averages(by);
  }
  return hold(averages_type, std::move(averages));
}

PyObject* events_export_stacks(PyObject* self, PyObject* args) {
  const char* path = nullptr;
  const char* metric = nullptr;
  if (PyArg_ParseTuple(args, "ss", &path, &metric) == 0) return nullptr;
  std::optional<Error> failed;
  {
    const WithoutLock unlocked;
    const auto write = [&]() -> Result<void> {
      SONDE_TRY(const StackMetric by, parse_stack_metric(metric));
      return write_file_whole(path, events_of(self).collapsed_stacks(by));
    };
    if (const Result<void> written = write(); !written) failed = written.error();
  }
  return failed ? raise(*failed) : none();
}

// The names of these are in python/sonde/_averages.py, in the same order.
PyObject* average_tuple(const EventAverage& row) {
  return Py_BuildValue("NNNNNiiNNNKddddLLLLK", text(row.key), text(row.overload_name),
                       text(row.input_shapes), texts(row.stack), text(row.arguments),
                       static_cast<int>(row.device_type), static_cast<int>(row.scope),
                       boolean(row.is_async), boolean(row.is_user_annotation),
                       boolean(row.has_parent), static_cast<unsigned long long>(row.count),
                       row.cpu_total_us, row.self_cpu_us, row.device_total_us, row.self_device_us,
                       static_cast<long long>(row.cpu_memory_bytes),
                       static_cast<long long>(row.self_cpu_memory_bytes),
                       static_cast<long long>(row.device_memory_bytes),
                       static_cast<long long>(row.self_device_memory_bytes),
                       static_cast<unsigned long long>(row.flops));
}

PyObject* events_total(PyObject* self, PyObject* /*none*/) {
  return average_tuple(events_of(self).total_average());
}

PyObject* metrics_tuple(const dynamo::ProfileMetrics& metrics) {
  return Py_BuildValue("dddL", metrics.microseconds, metrics.operators, metrics.fusions,
                       static_cast<long long>(metrics.graphs));
}

PyObject* events_dynamo(PyObject* self, PyObject* /*none*/) {
  const EventList& events = events_of(self);
  const dynamo::ProfileResult result = dynamo::profile_result(events, 0);
  return Py_BuildValue("NNN", metrics_tuple(result.captured), metrics_tuple(result.total),
                       texts(dynamo::missing_lines(events)));
}

PyObject* events_use_device(PyObject* self, void*) {
  const std::string_view device = events_of(self).use_device();
  return device.empty() ? none() : text(device);
}
PyObject* events_with_stack(PyObject* self, void*) {
  return boolean(events_of(self).with_stack());
}
PyObject* events_profile_memory(PyObject* self, void*) {
  return boolean(events_of(self).profile_memory());
}
PyObject* events_with_flops(PyObject* self, void*) {
  return boolean(events_of(self).with_flops());
}
PyObject* events_self_cpu(PyObject* self, void*) {
  return PyFloat_FromDouble(events_of(self).self_cpu_time_total_us());
}
PyObject* events_trace(PyObject* self, void*) {
  return new_trace(events_of(self).trace());
}

PyMethodDef events_methods[] = {
    {"row", events_row, METH_O, "row(index): what an event is, as a tuple."},
    {"shapes", events_shapes, METH_O, "shapes(index): the shapes of its inputs, as text."},
    {"arguments", events_arguments, METH_O, "arguments(index): its arguments, as JSON."},
    {"span_arguments", events_span_arguments, METH_NOARGS,
     "An object whose of(span) is what Kineto's JSON says of a span."},
    {"stack", events_stack, METH_O, "stack(index): where it was called from."},
    {"text", events_text, METH_O, "text(index): what PyTorch prints for it."},
    {"span", events_span, METH_O, "span(index): its row of the table of spans, or None."},
    {"kernels", events_kernels, METH_O, "kernels(index): the events that it launched."},
    {"children", events_children, METH_O, "children(index): the events in it."},
    {"table", events_table, METH_VARARGS, "PyTorch's table of single events."},
    {"averages", events_averages, METH_VARARGS, "averages(shapes, stack, overload)."},
    {"total", events_total, METH_NOARGS, "All events added up."},
    {"dynamo", events_dynamo, METH_NOARGS,
     "What ran in graphs, what ran at all, and the lines of what did not."},
    {"export_stacks", events_export_stacks, METH_VARARGS, "export_stacks(path, metric)."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef events_getset[] = {{"use_device", events_use_device, nullptr, nullptr, nullptr},
                               {"with_stack", events_with_stack, nullptr, nullptr, nullptr},
                               {"profile_memory", events_profile_memory, nullptr, nullptr, nullptr},
                               {"with_flops", events_with_flops, nullptr, nullptr, nullptr},
                               {"self_cpu_time_total", events_self_cpu, nullptr, nullptr, nullptr},
                               {"trace", events_trace, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot events_slots[] = {{Py_tp_doc, const_cast<char*>("The events of a trace.")},
                              {Py_tp_dealloc, slot(free_holder<EventList>)},
                              {Py_tp_methods, events_methods},
                              {Py_tp_getset, events_getset},
                              {Py_sq_length, slot(events_length)},
                              {0, nullptr}};

const KeyAverages& averages_of(PyObject* self) {
  return value_of<KeyAverages>(self);
}

Py_ssize_t averages_length(PyObject* self) {
  return static_cast<Py_ssize_t>(averages_of(self).size());
}

PyObject* averages_rows(PyObject* self, PyObject* /*none*/) {
  const KeyAverages& averages = averages_of(self);
  Ref list(PyList_New(static_cast<Py_ssize_t>(averages.size())));
  for (std::size_t i = 0; list && i < averages.size(); ++i) {
    PyObject* const row = average_tuple(averages[i]);
    if (row == nullptr || PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), row) != 0)
      return nullptr;
  }
  return list.release();
}

PyObject* averages_table(PyObject* self, PyObject* args) {
  return table_text(averages_of(self), args);
}

PyMethodDef averages_methods[] = {{"rows", averages_rows, METH_NOARGS, "Every row, as tuples."},
                                  {"table", averages_table, METH_VARARGS, "PyTorch's table."},
                                  {nullptr, nullptr, 0, nullptr}};
PyType_Slot averages_slots[] = {{Py_tp_doc, const_cast<char*>("Events added up by their names.")},
                                {Py_tp_dealloc, slot(free_holder<KeyAverages>)},
                                {Py_tp_methods, averages_methods},
                                {Py_sq_length, slot(averages_length)},
                                {0, nullptr}};

PyObject* nvprof(PyObject* /*module*/, PyObject* args) {
  const char* path = nullptr;
  if (PyArg_ParseTuple(args, "s", &path) == 0) return nullptr;
  std::optional<Result<EventList>> events;
  {
    const WithoutLock unlocked;
    events.emplace(load_nvprof(path));
  }
  return *events ? new_events(**events) : raise(events->error());
}

// From python/sonde/_event_list.py: the fields of average_tuple().
bool parse_average(PyObject* tuple, EventAverage& row) {
  const char* key = nullptr;
  const char* overload = nullptr;
  const char* shapes = nullptr;
  const char* arguments = nullptr;
  PyObject* stack = nullptr;
  int device = 0;
  int scope = 0;
  int flags[3] = {};
  unsigned long long count = 0;
  long long bytes[4] = {};
  unsigned long long flops = 0;
  if (PyArg_ParseTuple(tuple, "sssOsiipppKddddLLLLK", &key, &overload, &shapes, &stack, &arguments,
                       &device, &scope, &flags[0], &flags[1], &flags[2], &count, &row.cpu_total_us,
                       &row.self_cpu_us, &row.device_total_us, &row.self_device_us, &bytes[0],
                       &bytes[1], &bytes[2], &bytes[3], &flops) == 0 ||
      !parse_columns(stack, row.stack))
    return false;
  row.key = key;
  row.overload_name = overload;
  row.input_shapes = shapes;
  row.arguments = arguments;
  row.device_type = static_cast<DeviceType>(device);
  row.scope = static_cast<RecordScope>(scope);
  row.is_async = flags[0] != 0;
  row.is_user_annotation = flags[1] != 0;
  row.has_parent = flags[2] != 0;
  row.count = count;
  row.cpu_memory_bytes = bytes[0];
  row.self_cpu_memory_bytes = bytes[1];
  row.device_memory_bytes = bytes[2];
  row.self_device_memory_bytes = bytes[3];
  row.flops = flops;
  return true;
}

PyObject* table_of_rows(PyObject* /*module*/, PyObject* args) {
  PyObject* given = nullptr;
  PyObject* options_given = nullptr;
  const char* device = nullptr;
  int memory = 0;
  int flops = 0;
  if (PyArg_ParseTuple(args, "O!(spp)O!", &PyList_Type, &given, &device, &memory, &flops,
                       &PyTuple_Type, &options_given) == 0)
    return nullptr;
  TableOptions options;
  if (!parse_table(options_given, options)) return nullptr;
  std::vector<EventAverage> rows(static_cast<std::size_t>(PyList_Size(given)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!parse_average(PyList_GetItem(given, static_cast<Py_ssize_t>(i)), rows[i])) return nullptr;
  }
  const Result<std::string> table = table_of(rows, {device, memory != 0, flops != 0}, options);
  return table ? text(*table) : raise(table.error());
}

PyMethodDef events_functions[] = {
    {"table_of_rows", table_of_rows, METH_VARARGS,
     "table_of_rows(rows, (use_device, profile_memory, with_flops), options): PyTorch's table."},
    {"load_nvprof", nvprof, METH_VARARGS, "load_nvprof(path): the events of a database of nvprof."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_events_types(PyObject* module) {
  events_type = make_type(module, "sonde._native.Events", sizeof(Holder<EventList>), events_slots);
  averages_type =
      make_type(module, "sonde._native.Averages", sizeof(Holder<KeyAverages>), averages_slots);
  span_arguments_type = make_type(module, "sonde._native.SpanArguments",
                                  sizeof(Holder<SpanArgumentsPtr>), span_arguments_slots);
  return events_type != nullptr && averages_type != nullptr && span_arguments_type != nullptr &&
         PyModule_AddFunctions(module, events_functions) == 0;
}

PyObject* new_events(EventList events) {
  return hold(events_type, std::move(events));
}

}  // namespace sonde::python
