// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/control_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "agent/control.h"
#include "base/file.h"
#include "base/kept_file.h"

namespace sonde {
namespace {

bool may_ask(int connection) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

void answer_one(int connection, const ControlServer::Answer& answer) {
  const timeval patience = {1, 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (!may_ask(connection)) return send_text(connection, "error not permitted\n");
  if (const auto request = receive_text(connection, '\n')) send_text(connection, answer(*request));
}

}  // namespace

Result<void> ControlServer::open() {
  pid_ = ::getpid();
  const ControlAddress address(pid_);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return io_failure("control socket", "make", errno);
  fd_ = out_of_the_way(made);
  if (::bind(fd_, address.get(), address.size()) == 0 && ::listen(fd_, 4) == 0) return {};
  const int reason = errno;
  forget();
  return io_failure("control socket", "open", reason);
}

void ControlServer::forget() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

// A program that closes all its descriptors may have opened something else under our number.
bool ControlServer::is_ours() const {
  sockaddr_un bound = {};
  socklen_t size = sizeof(bound);
  if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return false;
  return ControlAddress(pid_).is(bound, size);
}

void ControlServer::serve(std::int64_t timeout_ns, const sigset_t& mask, const Answer& answer) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec timeout = {timeout_ns / kSecond, timeout_ns % kSecond};
  pollfd waiting = {fd_, POLLIN, 0};  // one with -1 is passed over
  const int ready = ::ppoll(&waiting, 1, timeout_ns < 0 ? nullptr : &timeout, &mask);
  if (ready <= 0) return;
  if ((waiting.revents & POLLNVAL) != 0 || !is_ours()) {
    fd_ = -1;
    return;
  }
  const int connection = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return;
  answer_one(connection, answer);
  ::close(connection);
}

}  // namespace sonde
