// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The agent's end of control.h. One thread calls serve() repeatedly; it sleeps until a request or a
// signal arrives or the time is up.

#include <signal.h>

#include <cstdint>
#include <functional>
#include <string>

#include "sonde/result.h"

namespace sonde {

class ControlServer {
 public:
  // Takes a request without its line end, gives the answer.
  using Answer = std::function<std::string(const std::string& request)>;

  // Under the name of the calling process. Fails if the name is taken.
  Result<void> open();
  // In a child of fork(): the socket belongs to the parent.
  void forget();

  // Returns after one request, a signal that `mask` lets through, or `timeout_ns` (-1: never).
  void serve(std::int64_t timeout_ns, const sigset_t& mask, const Answer& answer);

 private:
  bool is_ours() const;

  int fd_ = -1;
  pid_t pid_ = 0;
};

}  // namespace sonde
