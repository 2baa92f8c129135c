// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the system says of this process. It is read from files that watch_own_process() opens: a
// sandbox that the program enters later may end it for opening anything.

#include <optional>

namespace sonde {

// To be called where a recording begins, and again in a child of fork().
void watch_own_process();

// Whether the program has entered a sandbox (a seccomp filter) since. Then nothing should be opened
// and no socket made: the sandbox may end the program for it. Containers have a filter from the
// start, which does not count. False where the system does not say.
bool is_in_sandbox();

// The first thread of the process, if it has ended while others go on.
struct EndedLeader {
  int threads_left = 0;
  int exit_status = 0;      // of that thread
  bool was_strict = false;  // it could do nothing any more but read, write and end (strict seccomp)
};
std::optional<EndedLeader> ended_leader();

}  // namespace sonde
