// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Programs that do what recorders do not expect. Each is compared with itself without Sonde, so it
// prints nothing that differs from run to run.

#include <sonde/record.h>

#include <string>
#include <vector>

namespace awkward {

struct Program {
  const char* name;
  int (*run)();  // its exit status, if it returns
};

// Whoever defines programs adds them here.
std::vector<Program>& programs();
struct Add {
  explicit Add(std::initializer_list<Program> more) {
    programs().insert(programs().end(), more.begin(), more.end());
  }
};

inline void work(int count) {
  for (int i = 0; i < count; ++i) {
    SONDE_SCOPE("work");
  }
}

// A line on stdout, at once: what follows may be a crash.
void say(const std::string& text);
void pause_ms(int milliseconds);
// The status of the child as text: "exit 3", "signal 9".
std::string ended(int pid);

}  // namespace awkward
