// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <signal.h>

namespace sonde::cli {

// Interrupts from the terminal also reach the child that works for us. We ignore them and continue
// when the child has ended.
class InterruptsAwaited {
 public:
  InterruptsAwaited() {
    for (int i = 0; i < 2; ++i) {
      struct sigaction ignored = {};
      ignored.sa_handler = SIG_IGN;
      ::sigaction(kSignals[i], &ignored, &before_[i]);
    }
  }
  ~InterruptsAwaited() {
    for (int i = 0; i < 2; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  InterruptsAwaited(const InterruptsAwaited&) = delete;
  InterruptsAwaited& operator=(const InterruptsAwaited&) = delete;

 private:
  static constexpr int kSignals[2] = {SIGINT, SIGQUIT};
  struct sigaction before_[2] = {};
};

}  // namespace sonde::cli
