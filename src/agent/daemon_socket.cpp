// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/daemon_socket.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/kept_file.h"

namespace sonde {
namespace {

constexpr std::size_t kTypeBytes = 32;
constexpr std::size_t kHeadBytes = sizeof(std::uint64_t) + kTypeBytes;
constexpr std::size_t kMostBytes = std::size_t{1} << 16;

// Whether the sender of a message runs as this user, or as root.
bool is_trusted(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(part), sizeof(sender));
    return sender.uid == ::geteuid() || sender.uid == 0;
  }
  return false;
}

}  // namespace

Result<DaemonAddress> daemon_address(std::string_view name) {
  DaemonAddress made;
  made.address.sun_family = AF_UNIX;
  const char* const folder = std::getenv("KINETO_IPC_SOCKET_DIR");
  if (folder != nullptr && *folder != '\0') {
    made.path = std::string(folder) + "/" + std::string(name);
    if (made.path.size() >= sizeof(made.address.sun_path))
      return Failure(ErrorCode::Invalid, made.path + ": too long for the name of a socket");
    std::memcpy(made.address.sun_path, made.path.c_str(), made.path.size() + 1);
    made.size = sizeof(made.address);
    return made;
  }
  if (name.size() + 2 > sizeof(made.address.sun_path))
    return Failure(ErrorCode::Invalid, std::string(name) + ": too long for the name of a socket");
  std::memcpy(made.address.sun_path + 1, name.data(), name.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 2);
  return made;
}

std::string daemon_datagram(const DaemonMessage& message) {
  const std::uint64_t size = message.body.size();
  std::string type = message.type;
  type.resize(kTypeBytes);
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + type + message.body;
}

std::optional<DaemonMessage> parse_daemon_datagram(std::string_view datagram) {
  std::uint64_t size = 0;
  if (datagram.size() < kHeadBytes) return std::nullopt;
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): bytes, not a C string
  std::memcpy(&size, datagram.data(), sizeof(size));
  if (size != datagram.size() - kHeadBytes) return std::nullopt;
  const std::string type(datagram.substr(sizeof(size), kTypeBytes));
  return DaemonMessage{type.c_str(), std::string(datagram.substr(kHeadBytes))};
}

Result<DaemonSocket> DaemonSocket::open(std::string_view name) {
  SONDE_TRY(DaemonAddress own, daemon_address(name));
  DaemonSocket made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), {});
  if (made.socket_ < 0) return io_failure("a socket", "open", errno);
  made.socket_ = out_of_the_way(made.socket_);
  const int on = 1;
  ::setsockopt(made.socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
  if (::bind(made.socket_, reinterpret_cast<const sockaddr*>(&own.address), own.size) != 0) {
    if (errno == EADDRINUSE)
      return Failure(ErrorCode::NotFound,
                     "another process already uses the name " + std::string(name));
    return io_failure("a socket called " + std::string(name), "open", errno);
  }
  made.own_ = std::move(own);
  made.process_ = ::getpid();
  return made;
}

DaemonSocket::DaemonSocket(DaemonSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      own_(std::exchange(other.own_, {})),
      process_(other.process_) {}

// In a child of fork() the name belongs to the parent.
DaemonSocket::~DaemonSocket() {
  if (socket_ < 0) return;
  const bool has_name = own_.size > 0 && process_ == ::getpid();
  if (own_.size == 0 || is_ours()) ::close(socket_);
  if (has_name && !own_.path.empty()) ::unlink(own_.path.c_str());
}

// A program that closes all its descriptors may have reused our number for another file.
bool DaemonSocket::is_ours() const {
  sockaddr_un bound = {};
  socklen_t size = sizeof(bound);
  return ::getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size) == 0 &&
         std::memcmp(&bound, &own_.address, sizeof(bound)) == 0;
}

bool DaemonSocket::wait(int milliseconds) const {
  pollfd ready = {socket_, POLLIN, 0};
  return ::poll(&ready, 1, milliseconds) > 0;
}

std::optional<DaemonSocket::Received> DaemonSocket::receive() {
  if (!is_ours()) return std::nullopt;
  std::string bytes(kMostBytes, '\0');
  for (;;) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> credentials{};
    Received received;
    iovec part = {bytes.data(), bytes.size()};
    msghdr message = {};
    message.msg_name = &received.from.address;
    message.msg_namelen = sizeof(received.from.address);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = credentials.data();
    message.msg_controllen = credentials.size();
    const ssize_t size = ::recvmsg(socket_, &message, MSG_DONTWAIT);
    if (size < 0) return std::nullopt;
    auto parsed = parse_daemon_datagram({bytes.data(), static_cast<std::size_t>(size)});
    if (!parsed || !is_trusted(message)) continue;
    received.message = *std::move(parsed);
    received.from.size = message.msg_namelen;
    return received;
  }
}

bool DaemonSocket::send(const DaemonMessage& message, const DaemonAddress& to) {
  if (!is_ours()) return false;
  const std::string bytes = daemon_datagram(message);
  return ::sendto(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&to.address), to.size) >= 0;
}

}  // namespace sonde
