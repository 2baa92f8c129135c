// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What profilers say becomes Python's: warnings are warnings, errors are exceptions.

#include <string>
#include <vector>

#include "py.h"

namespace sonde::python {

// Once, when the module is loaded.
void take_messages();

// Keeps what profilers say on this thread while it lives.
class MessagesKept {
 public:
  MessagesKept();
  ~MessagesKept();
  MessagesKept(const MessagesKept&) = delete;
  MessagesKept& operator=(const MessagesKept&) = delete;

  // Warns, and raises the first error. False: an exception is set.
  bool give_to_python();

 private:
  friend void take_messages();
  MessagesKept* before_;
  std::vector<std::string> warnings_;
  std::string error_;
  bool has_error_ = false;
};

}  // namespace sonde::python
