// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "messages.h"

#include <cstdio>

#include "base/readable.h"
#include "sonde/profiler.h"

namespace sonde::python {
namespace {

constexpr Py_ssize_t kCaller = 2;  // the caller of the package

thread_local MessagesKept* keeper = nullptr;

}  // namespace

void take_messages() {
  set_message_handler([](MessageLevel level, std::string_view said) {
    if (keeper == nullptr) {
      std::fprintf(stderr, "sonde: %s: %s\n", level == MessageLevel::Error ? "error" : "warning",
                   readable_text(said).c_str());
    } else if (level == MessageLevel::Warning) {
      keeper->warnings_.emplace_back(said);
    } else if (!std::exchange(keeper->has_error_, true)) {
      keeper->error_ = said;
    }
  });
}

MessagesKept::MessagesKept() : before_(std::exchange(keeper, this)) {}

MessagesKept::~MessagesKept() {
  keeper = before_;
}

bool MessagesKept::give_to_python() {
  for (const std::string& warning : std::exchange(warnings_, {})) {
    if (PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), kCaller) != 0) return false;
  }
  if (!std::exchange(has_error_, false)) return true;
  raise({ErrorCode::Internal, error_});
  return false;
}

}  // namespace sonde::python
