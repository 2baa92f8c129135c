// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A program may end its first thread and go on in others (pthread_exit() in main). The C library
// ends the process with its last thread, but it counts our threads too, so the process would never
// end.

#include <cstddef>
#include <cstdint>

namespace sonde {

// Marks the calling thread as one of ours while it lives.
class OwnThread {
 public:
  OwnThread();
  ~OwnThread();
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

 private:
  std::size_t place_ = 0;
};
// Whether the thread with that id is one of them.
bool is_own_thread(std::int64_t kernel_id);
// Call it in a child of fork(), which has none of them.
void forget_own_threads();

// Ends the program if none but our threads are left, as its last thread would have: exit(0), or the
// status of the first thread. Call it now and then.
void end_with_last_thread();

}  // namespace sonde
