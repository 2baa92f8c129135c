// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <string>

namespace sonde {

// "USR1"; the number for POSIX's realtime signals, which have no name.
inline std::string signal_text(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? name : std::to_string(number);
}

// While this lives, the calling thread gets no signals. Threads that it starts never get any: the
// program's signals are not for our threads.
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

}  // namespace sonde
