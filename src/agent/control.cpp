// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/control.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "agent/run_environment.h"
#include "base/file.h"
#include "base/new_file.h"

namespace sonde {
namespace {

constexpr std::size_t kLongestText = std::size_t{64} << 10;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string process_text(pid_t pid) {
  std::string text = "process " + std::to_string(pid);
  std::string name;
  if (std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name))
    text += " (" + name + ")";
  return text;
}

// The owner of a process. Fails if this user may not send it requests.
Result<uid_t> owner_of(pid_t pid) {
  struct stat facts = {};
  if (::stat(("/proc/" + std::to_string(pid)).c_str(), &facts) != 0)
    return Failure(ErrorCode::NotFound, "no such process: " + std::to_string(pid));
  if (::geteuid() != 0 && facts.st_uid != ::geteuid()) {
    return Failure(ErrorCode::Io, process_text(pid) + " belongs to another user");
  }
  return facts.st_uid;
}

Failure no_agent(pid_t pid) {
  return {ErrorCode::NotFound,
          process_text(pid) +
              " has no Sonde agent: it was not started by `sonde run`, or has not yet loaded "
              "libtorch or Sonde's recorder"};
}

std::string names_of(pid_t pid) {
  return kControlPrefix + std::to_string(pid) + "-";
}

bool is_agent(int socket, pid_t pid, uid_t owner) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid &&
         peer.uid == owner;
}

// Does not wait for the listener, which may be a stranger that never accepts.
Result<Descriptor> connect_to_agent(pid_t pid, uid_t owner) {
  std::ifstream sockets("/proc/net/unix");
  for (const std::string& name : control_names(sockets, pid)) {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) return io_failure("socket", "make", errno);
    const ControlAddress address(name);
    if (::connect(socket.get(), address.get(), address.size()) != 0) continue;
    if (!is_agent(socket.get(), pid, owner)) continue;
    ::fcntl(socket.get(), F_SETFL, 0);  // from here on, wait
    return socket;
  }
  return no_agent(pid);
}

}  // namespace

ControlAddress::ControlAddress(pid_t pid) : ControlAddress(names_of(pid) + random_digits()) {}

ControlAddress::ControlAddress(const std::string& name) {
  address_.sun_family = AF_UNIX;
  name.copy(address_.sun_path + 1, sizeof(address_.sun_path) - 1);  // sun_path[0] stays 0: abstract
  size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool ControlAddress::is(const sockaddr_un& address, socklen_t size) const {
  return size_ == size && std::memcmp(&address_, &address, size_) == 0;
}

Result<std::string> receive_text(int socket, char end) {
  std::string text;
  for (;;) {
    char piece[4096];
    const ssize_t got = ::recv(socket, piece, sizeof(piece), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failure(ErrorCode::Io, std::string("no answer: ") + std::strerror(errno));
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > kLongestText) return Failure(ErrorCode::Corrupt, "the text is too long");
    if (const std::size_t at = text.find(end); end != '\0' && at != std::string::npos)
      return text.substr(0, at);
  }
}

void send_text(int socket, const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the asker is gone
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::vector<std::string> control_names(std::istream& sockets, pid_t pid) {
  const std::string beginning = "@" + names_of(pid);  // /proc shows @ for the 0 of abstract names
  std::vector<std::string> names;
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.find(beginning);
    if (at != std::string::npos) names.push_back(line.substr(at + 1));
  }
  return names;
}

Result<std::string> ask_agent(pid_t pid, const std::string& request) {
  SONDE_TRY(const uid_t owner, owner_of(pid));
  SONDE_TRY(const Descriptor socket, connect_to_agent(pid, owner));
  send_text(socket.get(), request + "\n");
  SONDE_TRY(std::string answer, receive_text(socket.get(), '\0'));
  while (!answer.empty() && answer.back() == '\n') answer.pop_back();
  if (answer.rfind("ok ", 0) == 0) return answer.substr(3);
  if (answer.rfind("error ", 0) == 0) {
    return Failure(ErrorCode::Unsupported, process_text(pid) + ": " + answer.substr(6));
  }
  return Failure(ErrorCode::Corrupt, process_text(pid) + " ended before it answered");
}

}  // namespace sonde
