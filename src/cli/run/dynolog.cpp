// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/dynolog.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "base/json_walk.h"

namespace sonde::cli {
namespace {

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

std::optional<DaemonRequest> parse_daemon_request(const DaemonMessage& message) {
  if (message.type == kDaemonAnnounces) return parse_announcement(message.body);
  if (message.type == kDaemonAsks) return parse_question(message.body);
  return std::nullopt;
}

DaemonMessage daemon_answer(const DaemonRequest& request, std::string_view configuration) {
  if (!request.is_announcement) return {std::string(kDaemonAsks), std::string(configuration)};
  const std::int32_t programs = 1;
  return {std::string(kDaemonAnnounces),
          std::string(reinterpret_cast<const char*>(&programs), sizeof(programs))};
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
        "another process already uses the name dynolog, and nothing answers at dynolog's port "
        "1778");
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

std::optional<std::set<std::int32_t>> triggered_by_daemon(std::string_view answer) {
  std::optional<std::set<std::int32_t>> pids;
  JsonWalk walk(answer);
  const bool is_read = walk.object([&](std::string_view key) {
    if (key != "activityProfilersTriggered") return walk.skip();
    pids.emplace();
    return walk.array([&] {
      const std::optional<std::int64_t> pid = walk.integer();
      if (!pid || !std::in_range<std::int32_t>(*pid)) return false;
      pids->insert(static_cast<std::int32_t>(*pid));
      return true;
    });
  });
  return is_read ? pids : std::nullopt;
}

}  // namespace sonde::cli
