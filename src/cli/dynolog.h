// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The protocol with which programs that use PyTorch ask whether to record, and what. A program that
// was started with KINETO_USE_DAEMON=1 asks a daemon called "dynolog" every five seconds.
//
// A datagram is {uint64 size of the body, char type[32], body}. Type "ctxt" announces a program:
// {int32 gpu, int32 pid, int64 job}; the answer is an int32, how many there are. Type "req" asks:
// {int32 kinds, int32 n, int64 job, int32 pids[n]}, the program's own pid first, then those it was
// started by; the answer is a configuration as text, empty if there is nothing to do.

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"

namespace sonde::cli {

struct DaemonRequest {
  bool is_announcement = false;
  std::int64_t job = 0;
  std::vector<std::int32_t> pids;  // the program's own first; never empty
};

// None if the bytes are not a request.
std::optional<DaemonRequest> parse_daemon_request(std::string_view datagram);
std::string daemon_answer(const DaemonRequest& request, std::string_view configuration);

// The daemon's end of the protocol.
class DaemonSocket {
 public:
  // NotFound if another daemon has the name.
  static Result<DaemonSocket> listen();
  DaemonSocket(DaemonSocket&& other) noexcept;
  DaemonSocket(const DaemonSocket&) = delete;
  DaemonSocket& operator=(const DaemonSocket&) = delete;
  DaemonSocket& operator=(DaemonSocket&&) = delete;
  ~DaemonSocket();

  struct Received {
    DaemonRequest request;
    sockaddr_un from = {};
    socklen_t from_size = 0;
  };
  // The next request of this user's programs; none after so many milliseconds, or when interrupted.
  std::optional<Received> receive(int milliseconds);
  void answer(const Received& received, std::string_view configuration);

 private:
  DaemonSocket(int socket, std::string path) : socket_(socket), path_(std::move(path)) {}
  int socket_;
  std::string path_;  // to be removed; empty: none
};

// Hands a configuration to a daemon that has the name already, as its own command line tool does.
// Returns the daemon's answer, which is JSON.
Result<std::string> ask_running_daemon(std::string_view configuration, std::int64_t job,
                                       const std::vector<std::int32_t>& pids);

}  // namespace sonde::cli
