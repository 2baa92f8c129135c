// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The profiler. Its callbacks are Python's; everything else runs without the interpreter's lock.

#include "sonde/profiler.h"

#include <memory>
#include <optional>
#include <stdexcept>

#include "collect/record_options.h"
#include "messages.h"
#include "observer.h"
#include "types.h"

namespace sonde::python {
namespace {

PyTypeObject* profiler_type = nullptr;

// What the profiler calls, and the first exception that a call raised. Made and destroyed with the
// interpreter's lock.
struct Callbacks {
  Ref schedule;
  Ref on_trace_ready;
  Ref trace_id;
  Ref type;
  Ref value;
  Ref traceback;

  void keep_exception() {
    PyObject* raised[3] = {};
    PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
    Ref owned[3] = {Ref(raised[0]), Ref(raised[1]), Ref(raised[2])};
    if (type) return;
    type = std::move(owned[0]);
    value = std::move(owned[1]);
    traceback = std::move(owned[2]);
  }
  bool raise_kept() {
    if (!type) return false;
    PyErr_Restore(type.release(), value.release(), traceback.release());
    return true;
  }
};

struct PyProfiler {
  std::shared_ptr<Callbacks> callbacks;
  std::unique_ptr<Profiler> profiler;
};

ProfilerAction call_schedule(Callbacks& callbacks, std::int64_t step) {
  const WithLock locked;
  const Ref action(
      PyObject_CallFunction(callbacks.schedule.get(), "L", static_cast<long long>(step)));
  const long number = action ? PyLong_AsLong(action.get()) : -1;
  if (PyErr_Occurred() != nullptr) {
    callbacks.keep_exception();
    throw std::runtime_error("an exception of Python's");
  }
  return static_cast<ProfilerAction>(number);
}

void call_ready(Callbacks& callbacks) {
  const WithLock locked;
  const Ref done(PyObject_CallObject(callbacks.on_trace_ready.get(), nullptr));
  if (!done) callbacks.keep_exception();
}

std::string call_trace_id(Callbacks& callbacks) {
  const WithLock locked;
  const Ref id(PyObject_CallObject(callbacks.trace_id.get(), nullptr));
  const char* const given = id ? PyUnicode_AsUTF8AndSize(id.get(), nullptr) : nullptr;
  if (given != nullptr) return given;
  callbacks.keep_exception();
  return {};
}

// Calls `act` on the profiler, without the lock. Null: an exception is set.
template <typename Act>
PyObject* act_on(PyObject* self, Act act) {
  auto& held = value_of<PyProfiler>(self);
  MessagesKept messages;
  {
    const WithoutLock unlocked;
    act(*held.profiler);
  }
  if (held.callbacks->raise_kept()) return nullptr;
  return messages.give_to_python() ? none() : nullptr;
}

// The same for what returns a Result<void>.
template <typename Act>
PyObject* try_on(PyObject* self, Act act) {
  std::optional<Error> failed;
  const Ref done(act_on(self, [&](Profiler& profiler) {
    if (const Result<void> result = act(profiler); !result) failed = result.error();
  }));
  if (failed && PyErr_Occurred() == nullptr) return raise(*failed);
  return done ? none() : nullptr;
}

PyObject* prof_start(PyObject* self, PyObject*) {
  return act_on(self, [](Profiler& profiler) { profiler.start(); });
}
PyObject* prof_step(PyObject* self, PyObject*) {
  return act_on(self, [](Profiler& profiler) { profiler.step(); });
}
PyObject* prof_stop(PyObject* self, PyObject*) {
  return act_on(self, [](Profiler& profiler) { profiler.stop(); });
}
PyObject* prof_close(PyObject* self, PyObject*) {
  return try_on(self, [](Profiler& profiler) { return profiler.close(); });
}
PyObject* prof_prepare(PyObject* self, PyObject*) {
  return act_on(self, [](Profiler& profiler) { profiler.prepare_trace(); });
}
PyObject* prof_start_trace(PyObject* self, PyObject*) {
  return act_on(self, [](Profiler& profiler) { profiler.start_trace(); });
}
PyObject* prof_stop_trace(PyObject* self, PyObject*) {
  return act_on(self, [](Profiler& profiler) { profiler.stop_trace(); });
}

PyObject* prof_trace(PyObject* self, PyObject*) {
  std::optional<Result<Trace>> trace;
  const Ref done(act_on(self, [&](Profiler& profiler) { trace.emplace(profiler.trace()); }));
  if (!done) return nullptr;
  return *trace ? new_trace(**trace) : raise(trace->error());
}

PyObject* prof_save(PyObject* self, PyObject* args) {
  const char* path = nullptr;
  if (PyArg_ParseTuple(args, "s", &path) == 0) return nullptr;
  return try_on(self, [&](Profiler& profiler) { return profiler.save(path); });
}

PyObject* prof_export_memory(PyObject* self, PyObject* args) {
  const char* path = nullptr;
  const char* device = nullptr;
  if (PyArg_ParseTuple(args, "ss", &path, &device) == 0) return nullptr;
  return try_on(self,
                [&](Profiler& profiler) { return profiler.export_memory_timeline(path, device); });
}

PyObject* prof_add_metadata(PyObject* self, PyObject* args) {
  const char* key = nullptr;
  const char* value = nullptr;
  if (PyArg_ParseTuple(args, "ss", &key, &value) == 0) return nullptr;
  return act_on(self, [&](Profiler& profiler) { profiler.add_metadata(key, value); });
}

PyObject* prof_add_metadata_json(PyObject* self, PyObject* args) {
  const char* key = nullptr;
  const char* json = nullptr;
  if (PyArg_ParseTuple(args, "ss", &key, &json) == 0) return nullptr;
  return try_on(self, [&](Profiler& profiler) { return profiler.add_metadata_json(key, json); });
}

PyObject* prof_preset_metadata_json(PyObject* self, PyObject* args) {
  const char* key = nullptr;
  const char* json = nullptr;
  if (PyArg_ParseTuple(args, "ss", &key, &json) == 0) return nullptr;
  return try_on(self, [&](Profiler& profiler) { return profiler.preset_metadata_json(key, json); });
}

PyObject* prof_set_trace_id(PyObject* self, PyObject* callback) {
  auto& held = value_of<PyProfiler>(self);
  held.callbacks->trace_id = Ref::borrow(callback);
  const std::weak_ptr<Callbacks> callbacks = held.callbacks;
  return act_on(self, [&](Profiler& profiler) {
    profiler.set_custom_trace_id_callback([callbacks] {
      const std::shared_ptr<Callbacks> alive = callbacks.lock();
      return alive != nullptr ? call_trace_id(*alive) : std::string();
    });
  });
}

bool parse_activities(PyObject* given, std::vector<Activity>& activities) {
  activities.clear();
  const Py_ssize_t count = PySequence_Size(given);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(given, i));
    const long number = item ? PyLong_AsLong(item.get()) : -1;
    if (PyErr_Occurred() != nullptr) return false;
    activities.push_back(static_cast<Activity>(number));
  }
  return count >= 0;
}

PyObject* prof_toggle(PyObject* self, PyObject* args) {
  int enable = 0;
  PyObject* given = nullptr;
  std::vector<Activity> activities;
  if (PyArg_ParseTuple(args, "pO", &enable, &given) == 0 || !parse_activities(given, activities))
    return nullptr;
  return act_on(self, [&](Profiler& profiler) {
    profiler.toggle_collection_dynamic(enable != 0, activities);
  });
}

// Runs without the lock, like everything here: another thread may be in a callback, which waits for
// the lock while the profiler waits for the callback.
template <typename Ask>
auto asked(PyObject* self, Ask ask) {
  const WithoutLock unlocked;
  return ask(*value_of<PyProfiler>(self).profiler);
}

PyObject* prof_step_num(PyObject* self, void*) {
  return PyLong_FromLongLong(asked(self, [](const Profiler& prof) { return prof.step_num(); }));
}
PyObject* prof_action(PyObject* self, void*) {
  return PyLong_FromLong(
      asked(self, [](const Profiler& prof) { return static_cast<long>(prof.current_action()); }));
}
PyObject* prof_trace_id(PyObject* self, void*) {
  return text(asked(self, [](const Profiler& prof) { return prof.trace_id(); }));
}
PyObject* prof_path(PyObject* self, void*) {
  return text(asked(self, [](const Profiler& prof) { return prof.path(); }));
}

// Closing may wait for threads that wait for the lock.
void free_profiler(PyObject* self) {
  auto& held = value_of<PyProfiler>(self);
  {
    MessagesKept messages;  // nobody is left to hear them
    const WithoutLock unlocked;
    held.profiler.reset();
  }
  free_holder<PyProfiler>(self);
}

PyMethodDef profiler_methods[] = {
    {"start", prof_start, METH_NOARGS, nullptr},
    {"step", prof_step, METH_NOARGS, nullptr},
    {"stop", prof_stop, METH_NOARGS, nullptr},
    {"close", prof_close, METH_NOARGS, nullptr},
    {"prepare_trace", prof_prepare, METH_NOARGS, nullptr},
    {"start_trace", prof_start_trace, METH_NOARGS, nullptr},
    {"stop_trace", prof_stop_trace, METH_NOARGS, nullptr},
    {"toggle", prof_toggle, METH_VARARGS, "toggle(enable, activities)."},
    {"trace", prof_trace, METH_NOARGS, nullptr},
    {"save", prof_save, METH_VARARGS, nullptr},
    {"export_memory_timeline", prof_export_memory, METH_VARARGS, nullptr},
    {"add_metadata", prof_add_metadata, METH_VARARGS, nullptr},
    {"add_metadata_json", prof_add_metadata_json, METH_VARARGS, nullptr},
    {"preset_metadata_json", prof_preset_metadata_json, METH_VARARGS, nullptr},
    {"set_custom_trace_id_callback", prof_set_trace_id, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef profiler_getset[] = {{"step_num", prof_step_num, nullptr, nullptr, nullptr},
                                 {"current_action", prof_action, nullptr, nullptr, nullptr},
                                 {"trace_id", prof_trace_id, nullptr, nullptr, nullptr},
                                 {"path", prof_path, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot profiler_slots[] = {{Py_tp_doc, const_cast<char*>("A profiler.")},
                                {Py_tp_dealloc, slot(free_profiler)},
                                {Py_tp_methods, profiler_methods},
                                {Py_tp_getset, profiler_getset},
                                {0, nullptr}};

// None: all of them.
bool parse_kinds(PyObject* given, std::optional<std::vector<SpanKind>>& kinds) {
  if (given == Py_None) return true;
  kinds.emplace();
  const Py_ssize_t count = PySequence_Size(given);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(given, i));
    const char* const name = item ? PyUnicode_AsUTF8AndSize(item.get(), nullptr) : nullptr;
    if (name == nullptr) return false;
    const std::optional<SpanKind> kind = parse_span_kind(name);
    if (!kind) {
      PyErr_Format(PyExc_ValueError, "unknown kind of spans: %s", name);
      return false;
    }
    kinds->push_back(*kind);
  }
  return count >= 0;
}

void set_callbacks(ProfilerOptions& options, const std::shared_ptr<Callbacks>& callbacks) {
  const std::weak_ptr<Callbacks> weak = callbacks;
  if (callbacks->schedule)
    options.schedule = [weak](std::int64_t step) {
      const std::shared_ptr<Callbacks> alive = weak.lock();
      return alive != nullptr ? call_schedule(*alive, step) : ProfilerAction::None;
    };
  if (callbacks->on_trace_ready)
    options.on_trace_ready = [weak](Profiler&) {
      if (const std::shared_ptr<Callbacks> alive = weak.lock()) call_ready(*alive);
    };
  if (callbacks->trace_id)
    options.custom_trace_id_callback = [weak] {
      const std::shared_ptr<Callbacks> alive = weak.lock();
      return alive != nullptr ? call_trace_id(*alive) : std::string();
    };
}

Ref unless_none(PyObject* object) {
  return object == Py_None ? Ref() : Ref::borrow(object);
}

PyObject* make_profiler(PyObject* /*module*/, PyObject* args) {
  ProfilerOptions options;
  PyObject* activities = nullptr;
  PyObject* schedule = nullptr;
  PyObject* ready = nullptr;
  PyObject* trace_id = nullptr;
  PyObject* observer = nullptr;
  const char* output = nullptr;
  PyObject* kinds = nullptr;
  const char* gpu_level = nullptr;
  int flags[9] = {};
  if (PyArg_ParseTuple(args, "OpppppppppssOOOOO", &activities, &flags[0], &flags[1], &flags[2],
                       &flags[3], &flags[4], &flags[5], &flags[6], &flags[7], &flags[8], &gpu_level,
                       &output, &schedule, &ready, &trace_id, &observer, &kinds) == 0 ||
      !parse_activities(activities, options.record.activities) ||
      !parse_kinds(kinds, options.only_kinds))
    return nullptr;
  options.record.record_shapes = flags[0] != 0;
  options.record.profile_memory = flags[1] != 0;
  options.record.with_stack = flags[2] != 0;
  options.record.with_flops = flags[3] != 0;
  options.record.with_modules = flags[4] != 0;
  options.record.with_native_stack = flags[5] != 0;
  options.acc_events = flags[6] != 0;
  options.record.numbered_events = flags[7] != 0;
  options.record.overloads_in_names = flags[8] != 0;
  const Result<GpuLevel> level = gpu_level_named(gpu_level);
  if (!level) return raise(level.error());
  options.record.gpu_level = *level;
  options.output = output;
  options.execution_trace_observer = observer_in(observer);
  auto callbacks = std::make_shared<Callbacks>();
  callbacks->schedule = unless_none(schedule);
  callbacks->on_trace_ready = unless_none(ready);
  callbacks->trace_id = unless_none(trace_id);
  set_callbacks(options, callbacks);

  PyProfiler made{callbacks, nullptr};
  MessagesKept messages;
  {
    const WithoutLock unlocked;
    made.profiler = std::make_unique<Profiler>(std::move(options));
  }
  if (callbacks->raise_kept() || !messages.give_to_python()) return nullptr;
  return hold(profiler_type, std::move(made));
}

PyObject* activities_supported(PyObject* /*module*/, PyObject* /*none*/) {
  Ref list(PyList_New(0));
  for (const Activity activity : supported_activities()) {
    const Ref number(PyLong_FromLong(static_cast<long>(activity)));
    if (!list || !number || PyList_Append(list.get(), number.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* warnings_of_schedule(PyObject* /*module*/, PyObject* args) {
  ScheduleOptions options;
  long long values[6] = {};
  if (PyArg_ParseTuple(args, "LLLLLL", &values[0], &values[1], &values[2], &values[3], &values[4],
                       &values[5]) == 0)
    return nullptr;
  options = {values[0], values[1], values[2], values[3], values[4], values[5]};
  MessagesKept messages;
  const Schedule plan = schedule(options);
  if (!plan.status()) return raise(plan.status().error());
  return messages.give_to_python() ? none() : nullptr;
}

PyObject* action_in_schedule(PyObject* /*module*/, PyObject* args) {
  long long step = 0;
  long long values[6] = {};
  if (PyArg_ParseTuple(args, "LLLLLLL", &step, &values[0], &values[1], &values[2], &values[3],
                       &values[4], &values[5]) == 0)
    return nullptr;
  MessagesKept unheard;
  const Schedule plan =
      schedule({values[0], values[1], values[2], values[3], values[4], values[5]});
  return PyLong_FromLong(static_cast<long>(plan(step)));
}

PyMethodDef profiler_functions[] = {
    {"profiler", make_profiler, METH_VARARGS,
     "profiler(activities, record_shapes, profile_memory, with_stack, with_flops, with_modules, "
     "with_native_stack, acc_events, numbered_events, overloads_in_names, gpu_level, output, "
     "schedule, "
     "on_trace_ready, "
     "custom_trace_id_callback, observer, kinds)."},
    {"supported_activities", activities_supported, METH_NOARGS, "What sources record."},
    {"check_schedule", warnings_of_schedule, METH_VARARGS,
     "check_schedule(wait, warmup, active, repeat, skip_first, skip_first_wait): warns or raises."},
    {"schedule_action", action_in_schedule, METH_VARARGS,
     "schedule_action(step, wait, warmup, active, repeat, skip_first, skip_first_wait)."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_profiler_type(PyObject* module) {
  take_messages();
  profiler_type =
      make_type(module, "sonde._native.Profiler", sizeof(Holder<PyProfiler>), profiler_slots);
  return profiler_type != nullptr && PyModule_AddFunctions(module, profiler_functions) == 0;
}

}  // namespace sonde::python
