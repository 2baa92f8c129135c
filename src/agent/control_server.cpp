// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/control_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

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

// Whether a request comes before this process asks for something itself, and before long.
bool has_request(int connection, int own) {
  constexpr int kPatienceMs = 1000;
  pollfd waiting[] = {{connection, POLLIN, 0}, {own, POLLIN, 0}};
  return ::poll(waiting, 2, kPatienceMs) > 0 && waiting[1].revents == 0;
}

void answer_one(int connection, int own, const ControlServer::Answer& answer) {
  const timeval patience = {0, 100'000};  // for the rest of a request that has begun
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (!may_ask(connection)) return send_text(connection, "error not permitted\n");
  if (!has_request(connection, own)) return;
  if (const auto request = receive_text(connection, '\n')) send_text(connection, answer(*request));
}

// A program that closes all its descriptors may have reused our numbers for other files.
bool is_bound_to(int fd, const ControlAddress& address) {
  sockaddr_un bound = {};
  socklen_t size = sizeof(bound);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return false;
  return address.is(bound, size);
}

ino_t inode_of(int fd) {
  struct stat facts = {};
  return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace

Result<void> ControlServer::open() {
  process_ = ::getpid();
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_) == 0) {
    const timeval patience = {2, 0};
    ::setsockopt(ends_[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(ends_[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    for (const std::size_t i : {0U, 1U}) {
      ends_[i] = out_of_the_way(ends_[i]);
      inodes_[i] = inode_of(ends_[i]);
    }
  }
  return listen();
}

Result<void> ControlServer::listen() {
  address_.emplace(::getpid());
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return io_failure("control socket", "make", errno);
  fd_ = out_of_the_way(made);
  if (::bind(fd_, address_->get(), address_->size()) == 0 && ::listen(fd_, SOMAXCONN) == 0)
    return {};
  const int reason = errno;
  ::close(std::exchange(fd_, -1));
  return io_failure("control socket", "open", reason);
}

bool ControlServer::can_ask() const {
  return process_ == ::getpid() && ends_[1] >= 0 && inode_of(ends_[1]) == inodes_[1];
}

void ControlServer::tell(const std::string& request) const {
  if (!can_ask()) return;
  const ssize_t sent =
      ::send(ends_[1], request.data(), request.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  static_cast<void>(sent);
}

bool ControlServer::ask(const std::string& request) const {
  constexpr int kTries = 5;  // each waits as long as the socket was told to
  if (!can_ask()) return false;
  if (::write(ends_[1], request.data(), request.size()) < 0) return false;
  for (int i = 0; i < kTries; ++i) {
    char answer[256];
    if (::read(ends_[1], answer, sizeof(answer)) >= 0) return true;
    if (errno != EAGAIN && errno != EINTR) return false;
  }
  return false;
}

void ControlServer::forget() {
  if (fd_ >= 0 && address_ && is_bound_to(fd_, *address_)) ::close(fd_);
  fd_ = -1;
  for (const std::size_t i : {0U, 1U}) {
    if (ends_[i] >= 0 && inode_of(ends_[i]) == inodes_[i]) ::close(ends_[i]);
    ends_[i] = -1;
  }
}

void ControlServer::serve(std::int64_t timeout_ns, const sigset_t& mask, int other,
                          const Answer& answer) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec timeout = {timeout_ns / kSecond, timeout_ns % kSecond};
  // Entries with -1 are skipped.
  pollfd waiting[] = {{fd_, POLLIN, 0}, {ends_[0], POLLIN, 0}, {other, POLLIN, 0}};
  if (::ppoll(waiting, 3, timeout_ns < 0 ? nullptr : &timeout, &mask) <= 0) return;
  if (waiting[1].revents != 0) answer_own(answer);
  if (waiting[0].revents != 0) answer_other(answer);
}

void ControlServer::answer_own(const Answer& answer) {
  char request[64];
  const bool is_ours = inode_of(ends_[0]) == inodes_[0];
  const ssize_t got = is_ours ? ::read(ends_[0], request, sizeof(request)) : 0;
  if (got <= 0) {  // the program has closed it
    ends_[0] = -1;
    return;
  }
  const std::string text = answer(std::string(request, static_cast<std::size_t>(got)));
  if (text.empty()) return;  // nobody waits for it
  const ssize_t sent = ::send(ends_[0], text.data(), text.size(), MSG_NOSIGNAL);
  static_cast<void>(sent);  // the asker may be gone
}

void ControlServer::answer_other(const Answer& answer) {
  if (!address_ || !is_bound_to(fd_, *address_)) {
    fd_ = -1;
    return;
  }
  const int connection = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return;
  answer_one(connection, ends_[0], answer);
  ::close(connection);
}

}  // namespace sonde
