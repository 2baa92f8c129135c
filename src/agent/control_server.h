// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The agent's side of control.h. One thread calls serve() repeatedly. It sleeps until a request or
// a signal arrives, or the time is up.

#include <signal.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/control.h"
#include "sonde/result.h"

namespace sonde {

class ControlServer {
 public:
  // Takes a request without its line end and returns the answer; empty: none.
  using Answer = std::function<std::string(const std::string& request)>;

  // Opens the socket of the calling process.
  Result<void> open();
  // The other end of a socket pair, for requests from this process itself: a sandbox may forbid it
  // to create another socket, and nobody else can interfere. -1 if there is none.
  int own_end() const { return ends_[1]; }
  // Sends a request to the serving thread through that socket pair and waits for the answer; call
  // it from another thread. False if there is no answer within some seconds. It only reads and
  // writes, which sandboxes allow.
  bool ask(const std::string& request) const;
  // The same without an answer, and without waiting. If it is not heard, that is all.
  void tell(const std::string& request) const;
  // Call it in a child of fork(): the socket belongs to the parent.
  void forget();

  // Returns after one request, a signal that `mask` lets through, `timeout_ns` (-1: never), or when
  // `other` can be read (-1: there is none).
  void serve(std::int64_t timeout_ns, const sigset_t& mask, int other, const Answer& answer);

 private:
  bool can_ask() const;
  Result<void> listen();
  void answer_own(const Answer& answer);
  void answer_other(const Answer& answer);

  int fd_ = -1;
  std::optional<ControlAddress> address_;
  pid_t process_ = 0;  // that has opened it
  int ends_[2] = {-1, -1};
  ino_t inodes_[2] = {};
};

}  // namespace sonde
