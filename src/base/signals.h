// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pthread.h>
#include <signal.h>

namespace sonde {

// The calling thread gets no signals while this lives, nor do threads that it starts, ever: the
// program's signals are not for threads of ours.
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
