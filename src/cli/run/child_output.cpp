// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/child_output.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/file.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace sonde::cli {
namespace {

// What posix_spawn() does with descriptors and signals.
class SpawnPlan {
 public:
  SpawnPlan(int output, ChildErrors errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    if (errors == ChildErrors::Kept) {
      ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    } else {
      ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    // A signal that we ignore may still end the child.
    sigset_t restored;
    ::sigemptyset(&restored);
    for (const int number : {SIGINT, SIGQUIT, SIGPIPE}) ::sigaddset(&restored, number);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigdefault(&attributes_, &restored);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // 0, or errno.
  int spawn(pid_t& child, std::vector<std::string> words) const {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return ::posix_spawnp(&child, pointers[0], &actions_, &attributes_, pointers.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_ = {};
  posix_spawnattr_t attributes_ = {};
};

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> piece = {};
  for (;;) {
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

int wait_for_status(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? kStatusOfSignals + WTERMSIG(status) : WEXITSTATUS(status);
}

bool is_plain(char c) {
  return std::strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,+:@%",
                     c) != nullptr;
}

std::string quoted(const std::string& word) {
  bool plain = !word.empty();
  for (const char c : word) plain = plain && is_plain(c);
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

Result<ChildOutput> child_output(const std::vector<std::string>& words, ChildErrors errors) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return io_failure("pipe", "cannot make", errno);
  pid_t child = -1;
  const int failed = SpawnPlan(ends[1], errors).spawn(child, words);
  ::close(ends[1]);
  ChildOutput said;
  if (failed == 0) said.text = read_to_end(ends[0]);
  ::close(ends[0]);
  if (failed != 0) return io_failure(words.front(), "cannot start", failed);
  said.status = wait_for_status(child);
  return said;
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

}  // namespace sonde::cli
