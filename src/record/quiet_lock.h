// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A lock for the recorder's own state. While it is held, events that a signal handler records on
// this thread are lost and counted: the handler might need the same lock.

#include <atomic>
#include <mutex>

#include "sonde/detail/thread_cursor.h"

namespace sonde::detail {

class QuietLock {
 public:
  explicit QuietLock(std::mutex& mutex) noexcept
      : mutex_(mutex), was_busy_(sonde_detail_cursor.busy) {
    sonde_detail_cursor.busy = kBusy;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    mutex_.lock();
  }
  ~QuietLock() {
    mutex_.unlock();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    sonde_detail_cursor.busy = was_busy_;
  }
  QuietLock(const QuietLock&) = delete;
  QuietLock& operator=(const QuietLock&) = delete;

 private:
  std::mutex& mutex_;
  std::uint32_t was_busy_;
};

}  // namespace sonde::detail
