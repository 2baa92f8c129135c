// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Passes messages of profilers to Python: warnings as warnings, errors as exceptions.

#include <string>
#include <vector>

#include "py.h"

namespace sonde::python {

// Call it once, when the module is loaded.
void take_messages();

// Keeps the messages of profilers on this thread while it lives.
class MessagesKept {
 public:
  MessagesKept();
  ~MessagesKept();
  MessagesKept(const MessagesKept&) = delete;
  MessagesKept& operator=(const MessagesKept&) = delete;

  // Issues the warnings and raises the first error. False if an exception is set.
  bool give_to_python();

 private:
  friend void take_messages();
  MessagesKept* before_;
  std::vector<std::string> warnings_;
  std::string error_;
  bool has_error_ = false;
};

}  // namespace sonde::python
