// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The protocol between `sonde ctl` and an agent: one connection per request, one line in each
// direction, over an abstract socket, so that a killed process leaves nothing behind. The socket's
// name contains the process id, so that `sonde ctl` finds it, and a random part, so that nobody can
// take it beforehand. Both sides check the user of the other process before they wait for it.
//
//   SONDE_TRY(const std::string answer, ask_agent(pid, "stop"));
//
// Requests: "start", "stop", "status", "snapshot" with or without a path after a space, and "end",
// with which a process ends its own agent (src/preload/endings.cpp); "signal 6" or "status 1" after
// a space says how the program ends. Answers: "ok" or "error", a space, a text. An answer may have
// several lines. It ends with the connection.

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <istream>
#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde {

class ControlAddress {
 public:
  // A new address for that process.
  explicit ControlAddress(pid_t pid);
  explicit ControlAddress(const std::string& name);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }
  bool is(const sockaddr_un& address, socklen_t size) const;

 private:
  sockaddr_un address_ = {};
  socklen_t size_ = 0;
};

// The names under which an agent of that process may listen. Anybody may have taken such a name.
// `sockets` is the text of /proc/net/unix.
std::vector<std::string> control_names(std::istream& sockets, pid_t pid);

// Returns the text of an "ok". Fails for an "error", or if the agent cannot be reached.
Result<std::string> ask_agent(pid_t pid, const std::string& request);

// The text received up to `end`, or up to the end of the connection if `end` is 0; at most 64 KiB.
Result<std::string> receive_text(int socket, char end);
void send_text(int socket, const std::string& text);

}  // namespace sonde
