// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/dynolog.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/json.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kTypeBytes = 32;
constexpr std::size_t kHeadBytes = sizeof(std::uint64_t) + kTypeBytes;
constexpr std::string_view kDaemonName = "dynolog";
constexpr std::size_t kMostPids = 4096;

template <typename T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof(T)) return false;
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): bytes, not a C string
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return true;
}

std::optional<DaemonRequest> parse_announcement(std::string_view body) {
  DaemonRequest request;
  std::int32_t gpu = 0;
  std::int32_t pid = 0;
  if (!take(body, gpu) || !take(body, pid) || !take(body, request.job)) return std::nullopt;
  request.is_announcement = true;
  request.pids = {pid};
  return request;
}

std::optional<DaemonRequest> parse_question(std::string_view body) {
  DaemonRequest request;
  std::int32_t kinds = 0;
  std::int32_t count = 0;
  if (!take(body, kinds) || !take(body, count) || !take(body, request.job)) return std::nullopt;
  if (count <= 0 || static_cast<std::size_t>(count) > kMostPids) return std::nullopt;
  for (std::int32_t i = 0; i < count; ++i) {
    std::int32_t pid = 0;
    if (!take(body, pid)) return std::nullopt;
    request.pids.push_back(pid);
  }
  return request;
}

// Abstract, with a NUL at its end that is part of the name; or a file, for containers that share a
// folder.
struct DaemonAddress {
  sockaddr_un address = {};
  socklen_t size = 0;
  std::string path;
};

Result<DaemonAddress> daemon_address() {
  DaemonAddress made;
  made.address.sun_family = AF_UNIX;
  const char* const folder = std::getenv("KINETO_IPC_SOCKET_DIR");
  if (folder != nullptr && *folder != '\0') {
    made.path = std::string(folder) + "/" + std::string(kDaemonName);
    if (made.path.size() >= sizeof(made.address.sun_path))
      return Failure(ErrorCode::Invalid, made.path + ": too long for the name of a socket");
    std::memcpy(made.address.sun_path, made.path.c_str(), made.path.size() + 1);
    made.size = sizeof(made.address);
    return made;
  }
  std::memcpy(made.address.sun_path + 1, kDaemonName.data(), kDaemonName.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + kDaemonName.size() + 2);
  return made;
}

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

Failure cannot(const char* what) {
  return Failure(ErrorCode::Io, std::string(what) + ": " + std::strerror(errno));
}

Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return cannot("the daemon does not take the request");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::string> receive_exactly(int socket, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::recv(socket, bytes.data() + have, size - have, 0);
    if (got <= 0) return cannot("the daemon does not answer");
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

std::optional<DaemonRequest> parse_daemon_request(std::string_view datagram) {
  std::uint64_t size = 0;
  if (datagram.size() < kHeadBytes || !take(datagram, size)) return std::nullopt;
  const std::string type(datagram.substr(0, kTypeBytes));
  datagram.remove_prefix(kTypeBytes);
  if (size != datagram.size()) return std::nullopt;
  if (type.c_str() == std::string_view("ctxt")) return parse_announcement(datagram);
  if (type.c_str() == std::string_view("req")) return parse_question(datagram);
  return std::nullopt;
}

std::string daemon_answer(const DaemonRequest& request, std::string_view configuration) {
  const std::int32_t programs = 1;
  const std::string body =
      request.is_announcement
          ? std::string(reinterpret_cast<const char*>(&programs), sizeof(programs))
          : std::string(configuration);
  const std::uint64_t size = body.size();
  std::string type = request.is_announcement ? "ctxt" : "req";
  type.resize(kTypeBytes);
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + type + body;
}

Result<DaemonSocket> DaemonSocket::listen() {
  SONDE_TRY(const DaemonAddress where, daemon_address());
  DaemonSocket made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "");
  if (made.socket_ < 0) return cannot("cannot open a socket");
  const int on = 1;
  ::setsockopt(made.socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
  if (::bind(made.socket_, reinterpret_cast<const sockaddr*>(&where.address), where.size) != 0) {
    if (errno == EADDRINUSE)
      return Failure(ErrorCode::NotFound, "another daemon already uses the name dynolog");
    return cannot("cannot listen as dynolog");
  }
  made.path_ = where.path;
  return made;
}

DaemonSocket::DaemonSocket(DaemonSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), path_(std::exchange(other.path_, "")) {}

DaemonSocket::~DaemonSocket() {
  if (socket_ >= 0) ::close(socket_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::optional<DaemonSocket::Received> DaemonSocket::receive(int milliseconds) {
  pollfd ready = {socket_, POLLIN, 0};
  if (::poll(&ready, 1, milliseconds) <= 0) return std::nullopt;
  std::array<char, 1 << 16> bytes{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> credentials{};
  Received received;
  iovec part = {bytes.data(), bytes.size()};
  msghdr message = {};
  message.msg_name = &received.from;
  message.msg_namelen = sizeof(received.from);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = credentials.data();
  message.msg_controllen = credentials.size();
  const ssize_t size = ::recvmsg(socket_, &message, MSG_DONTWAIT);
  if (size <= 0 || !is_trusted(message)) return std::nullopt;
  const std::optional<DaemonRequest> request =
      parse_daemon_request({bytes.data(), static_cast<std::size_t>(size)});
  if (!request) return std::nullopt;
  received.request = *request;
  received.from_size = message.msg_namelen;
  return received;
}

void DaemonSocket::answer(const Received& received, std::string_view configuration) {
  const std::string bytes = daemon_answer(received.request, configuration);
  ::sendto(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&received.from), received.from_size);
}

Result<std::string> ask_running_daemon(std::string_view configuration, std::int64_t job,
                                       const std::vector<std::int32_t>& pids) {
  constexpr std::uint16_t kPort = 1778;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return cannot("cannot open a socket");
  struct Closed {
    int socket;
    ~Closed() { ::close(socket); }
  } const closed{socket};
  const timeval patience = {5, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return cannot(
        "another daemon already uses the name dynolog, and nothing answers at its port 1778 on "
        "this "
        "machine");
  std::string list;
  for (const std::int32_t pid : pids) list += (list.empty() ? "" : ",") + std::to_string(pid);
  const std::string request =
      "{\"fn\":\"setKinetOnDemandRequest\",\"config\":" + json_string(configuration) +
      ",\"job_id\":" + std::to_string(job) + ",\"pids\":[" + list + "],\"process_limit\":1000}";
  const auto size = static_cast<std::int32_t>(request.size());
  SONDE_TRY_VOID(send_all(socket, {reinterpret_cast<const char*>(&size), sizeof(size)}));
  SONDE_TRY_VOID(send_all(socket, request));
  SONDE_TRY(const std::string head, receive_exactly(socket, sizeof(std::int32_t)));
  std::int32_t length = 0;
  std::memcpy(&length, head.data(), sizeof(length));
  constexpr std::int32_t kLongest = 1 << 20;
  if (length <= 0 || length > kLongest)
    return Failure(ErrorCode::Corrupt, "the daemon's answer cannot be understood");
  return receive_exactly(socket, static_cast<std::size_t>(length));
}

}  // namespace sonde::cli
