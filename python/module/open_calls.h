// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The calls that are open on a thread, and their spans.

#include <cstdint>
#include <vector>

#include "py.h"
#include "sonde/detail/thread_cursor.h"

namespace sonde::python {

class OpenCalls {
 public:
  static OpenCalls& of_thread();

  // Counts the recordings; threads notice a new one by it.
  static void count_recording();
  // The first event of this thread in a recording.
  bool is_new() const;
  // Begins the calls of `frame` and of its callers, which are seen from now on; null: none.
  void begin_recording(PyObject* frame);

  void begin_python(const void* code, std::uint32_t name) { begin(code, name); }
  void begin_c(std::uint32_t name) { begin(nullptr, name); }
  // The call of a frame, which needs not be the innermost.
  void begin_frame(PyObject* frame);

  // Calls of C functions in the innermost Python function whose end was not told, as by some
  // versions of CPython: it runs, so they have returned.
  void end_returned_c();
  // Of the innermost Python function, or of this code if it is known.
  void end_python(const void* code = nullptr);
  // Of the innermost call, if it is one of a C function.
  void end_c();
  void end_all();

  // Whether the innermost Python function is one of the package itself.
  bool is_in_own() const { return !calls_.empty() && !calls_.back().is_recorded; }

 private:
  struct Call {
    const void* code;  // null for a C function
    bool is_recorded;
    bool hides;  // what it calls is not recorded
  };
  void begin(const void* code, std::uint32_t name);
  void end_top();

  std::vector<Call> calls_;
  detail::ThreadCursor* cursor_ = &detail::sonde_detail_cursor;
  unsigned recording_ = 0;
};

}  // namespace sonde::python
