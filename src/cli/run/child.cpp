// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/file.h"
#include "cli/run/signals.h"

namespace sonde::cli {
namespace {

// Installs a handler for SIGCHLD, because our parent may have ignored it. We would then not learn
// how a child ended.
class KeptChildren {
 public:
  KeptChildren() {
    struct sigaction heard = {};
    heard.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &heard, &before_);
  }
  ~KeptChildren() { restore(); }
  KeptChildren(const KeptChildren&) = delete;
  KeptChildren& operator=(const KeptChildren&) = delete;
  void restore() const { ::sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Whether a file that the kernel cannot start may be a script without a first line. Like a shell,
// this looks for a zero byte in the first line.
bool may_be_script(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char begin[128];
  const ssize_t size = ::read(fd, begin, sizeof(begin));
  ::close(fd);
  const std::string_view read(begin, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  constexpr std::string_view kElf = "\177ELF";
  const bool has_zero = read.substr(0, read.find('\n')).find('\0') != std::string_view::npos;
  return !has_zero && !read.starts_with(kElf);
}

// Runs in the child. The pipe closes if it succeeds; otherwise it carries errno.
[[noreturn]] void become(const ChildCommand& command, const RelayedSignalsBlocked& blocked,
                         int errors) {
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : command.removed) ::unsetenv(name.c_str());
  if (!command.pid_variable.empty())
    ::setenv(command.pid_variable.c_str(), std::to_string(::getpid()).c_str(), 1);
  for (const int number : command.ignored_signals) ::signal(number, SIG_IGN);
  blocked.restore();
  std::vector<std::string> words = command.arguments;
  ::execv(command.path.c_str(), pointers_to(words).data());
  int reason = errno;
  if (reason == ENOEXEC && may_be_script(command.path)) {
    words = {"sh", command.path};
    words.insert(words.end(), command.arguments.begin() + 1, command.arguments.end());
    ::execv("/bin/sh", pointers_to(words).data());
    reason = errno;
  }
  const ssize_t written = ::write(errors, &reason, sizeof(reason));
  static_cast<void>(written);
  ::_exit(127);
}

// Returns how it ended. If the child stops, this process stops too, so that a shell sees its job
// stopped.
int wait_for(pid_t child, const GroupWitness& witness) {
  SignalRelay relay(child, witness);
  for (;;) {
    relay.wait_for_child();
    int status = 0;
    int stopped_by = 0;
    while (::waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED) == child) {
      if (WIFEXITED(status) || WIFSIGNALED(status)) return status;
      stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    }
    if (stopped_by != 0) relay.stop_too(stopped_by);
  }
}

}  // namespace

Result<ChildEnd> run_child(const ChildCommand& command) {
  const RelayedSignalsBlocked blocked;
  const KeptChildren kept;
  const GroupWitness witness;
  int errors[2];  // after the witness, which would keep it open
  if (::pipe2(errors, O_CLOEXEC) != 0) return io_failure("pipe", "make", errno);
  const pid_t child = ::fork();
  if (child == 0) {
    kept.restore();
    become(command, blocked, errors[1]);
  }
  ::close(errors[1]);
  ChildEnd end;
  if (child > 0 && ::read(errors[0], &end.exec_errno, sizeof(int)) <= 0) end.exec_errno = 0;
  ::close(errors[0]);
  if (child < 0) return io_failure(command.path, "start", errno);
  const int status = wait_for(child, witness);
  end.pid = child;
  end.killed = WIFSIGNALED(status);
  end.number = end.killed ? WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

}  // namespace sonde::cli
