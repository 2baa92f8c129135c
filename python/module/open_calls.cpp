// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "open_calls.h"

#include "call_names.h"
#include "sonde/detail/put_record.h"

namespace sonde::python {
namespace {

// Leaked when the thread ends: Python runs in destructors of other thread-local objects.
thread_local OpenCalls* of_this_thread = nullptr;

// From 1.
unsigned recordings = 0;

}  // namespace

OpenCalls& OpenCalls::of_thread() {
  OpenCalls*& mine = of_this_thread;
  if (mine == nullptr) mine = new OpenCalls;
  return *mine;
}

void OpenCalls::count_recording() {
  ++recordings;
}

bool OpenCalls::is_new() const {
  return recording_ != recordings;
}

void OpenCalls::begin_recording(PyObject* frame) {
  recording_ = recordings;
  calls_.clear();
  std::vector<Ref> frames;  // the innermost first
  for (Ref at = Ref::borrow(frame); at && at.get() != Py_None;
       at = Ref(PyObject_GetAttrString(frames.back().get(), "f_back"))) {
    frames.push_back(std::move(at));
  }
  PyErr_Clear();
  for (auto at = frames.rbegin(); at != frames.rend(); ++at) begin_frame(at->get());
}

void OpenCalls::begin_frame(PyObject* frame) {
  const Ref code(
      reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame))));
  begin(code.get(),
        is_call_of_module(code.get()) ? name_of_module_call(frame) : name_of_code(code.get()));
}

void OpenCalls::begin(const void* code, std::uint32_t name) {
  const bool hides = name == kHidesCalls || (!calls_.empty() && calls_.back().hides);
  const bool is_recorded =
      name != 0 && !hides &&
      detail::write_op_begin(*cursor_, name, SONDE_SCOPE_PYTHON_CALL, -1, 0, 0);
  calls_.push_back({code, is_recorded, hides});
}

void OpenCalls::end_top() {
  if (calls_.back().is_recorded) detail::write_end(*cursor_);
  calls_.pop_back();
}

void OpenCalls::end_returned_c() {
  while (!calls_.empty() && calls_.back().code == nullptr) end_top();
}

void OpenCalls::end_python(const void* code) {
  end_returned_c();
  if (calls_.empty()) return;
  if (code != nullptr && calls_.back().code != code) {
    // Calls whose end was not told, or one whose begin was not.
    auto at = calls_.rbegin();
    while (at != calls_.rend() && at->code != code) ++at;
    if (at == calls_.rend()) return;
    while (calls_.back().code != code) end_top();
  }
  end_top();
}

void OpenCalls::end_c() {
  if (!calls_.empty() && calls_.back().code == nullptr) end_top();
}

void OpenCalls::end_all() {
  while (!calls_.empty()) end_top();
}

}  // namespace sonde::python
