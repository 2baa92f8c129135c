// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An end of the protocol with which programs that use PyTorch ask a daemon called "dynolog" whether
// to record. `sonde trigger` is the daemon for a moment; the agent asks it (on_demand.h).
//
// A datagram is {uint64 size of the body, char type[32], body}. Type "ctxt" announces a program:
// {int32 gpu, int32 pid, int64 job}; the answer is an int32, how many there are. Type "req" asks:
// {int32 kinds, int32 n, int64 job, int32 pids[n]}, the program's own pid first, then those it was
// started by; the answer is a configuration as text, empty if there is nothing to do.

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde {

inline constexpr std::string_view kDaemonName = "dynolog";
inline constexpr std::string_view kDaemonAnnounces = "ctxt";
inline constexpr std::string_view kDaemonAsks = "req";

// A socket's name is abstract, with a NUL at its end that is part of it; or a file, if containers
// share a folder (KINETO_IPC_SOCKET_DIR).
struct DaemonAddress {
  sockaddr_un address = {};
  socklen_t size = 0;
  std::string path;  // of the file; empty: abstract
};
Result<DaemonAddress> daemon_address(std::string_view name);

struct DaemonMessage {
  std::string type;
  std::string body;
};
std::string daemon_datagram(const DaemonMessage& message);
// None if the bytes are not a message.
std::optional<DaemonMessage> parse_daemon_datagram(std::string_view datagram);

// Never waits, except in wait().
class DaemonSocket {
 public:
  // Fails with NotFound if somebody else has the name.
  static Result<DaemonSocket> open(std::string_view name);
  DaemonSocket(DaemonSocket&& other) noexcept;
  DaemonSocket& operator=(DaemonSocket&& other) = delete;
  DaemonSocket(const DaemonSocket&) = delete;
  DaemonSocket& operator=(const DaemonSocket&) = delete;
  ~DaemonSocket();

  int descriptor() const { return socket_; }
  // False after so many milliseconds, or when interrupted.
  bool wait(int milliseconds) const;

  struct Received {
    DaemonMessage message;
    DaemonAddress from;
  };
  // The next message of a process of this user or of root, if there is one. Others are skipped.
  std::optional<Received> receive();
  // False if nobody has that name, or its queue is full.
  bool send(const DaemonMessage& message, const DaemonAddress& to);

 private:
  DaemonSocket(int socket, DaemonAddress own) : socket_(socket), own_(std::move(own)) {}
  bool is_ours() const;

  int socket_;
  DaemonAddress own_;
  pid_t process_ = 0;
};

}  // namespace sonde
