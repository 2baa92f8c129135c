// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A program may end its first thread and go on in others (pthread_exit() in main). The C library
// ends it with its last thread, but takes ours for threads of the program: it would never end.

namespace sonde {

// While this lives, the calling thread is one of ours.
class OwnThread {
 public:
  OwnThread();
  ~OwnThread();
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
};
// In a child of fork(): none of them is left.
void forget_own_threads();

// Ends the program if none but our threads are left, as its last thread would have: exit(0), or
// the status of the first thread. To be called now and then.
void end_with_last_thread();

}  // namespace sonde
