// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Starts a program and waits for its end without getting in its way: terminal, process group,
// descriptors and signals are the same as if it had been started directly.

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "sonde/result.h"

namespace sonde::cli {

struct ChildCommand {
  std::string path;
  std::vector<std::string> arguments;                            // the first is the program's name
  std::vector<std::pair<std::string, std::string>> environment;  // set in addition
  std::vector<std::string> removed;                              // variables
  std::string pid_variable;          // gets the program's process id; empty: none
  std::vector<int> ignored_signals;  // when the program begins
};

struct ChildEnd {
  int exec_errno = 0;  // why it could not be started
  bool killed = false;
  int number = 0;  // of the signal that killed it, or its exit status
  pid_t pid = 0;
};

// Signals that are sent only to this process are passed on. Those for the whole process group, for
// example from the terminal, reach the program anyway.
Result<ChildEnd> run_child(const ChildCommand& command);

}  // namespace sonde::cli
