// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace sonde {

// "USR1"; the number for POSIX's realtime signals, which have no names.
inline std::string signal_text(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? name : std::to_string(number);
}

// While this object lives, the calling thread gets no signals. Threads that it starts never get
// any: the program's signals are not meant for our threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &kept_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &kept_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t kept_ = {};
};

// While this object lives, a write beyond RLIMIT_FSIZE fails with EFBIG in the calling thread and
// does not raise SIGXFSZ, which would kill a program that does not expect it. errno is unchanged.
class SizeSignalHeld {
 public:
  SizeSignalHeld() {
    const int error = errno;
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &kept_);
    was_pending_ = is_pending();
    errno = error;
  }
  ~SizeSignalHeld() {
    const int error = errno;
    const timespec at_once = {};
    if (!was_pending_ && is_pending()) ::sigtimedwait(&signal_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &kept_, nullptr);
    errno = error;
  }
  SizeSignalHeld(const SizeSignalHeld&) = delete;
  SizeSignalHeld& operator=(const SizeSignalHeld&) = delete;

 private:
  static bool is_pending() {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
  }
  sigset_t signal_ = {};
  sigset_t kept_ = {};
  bool was_pending_ = false;
};

}  // namespace sonde
