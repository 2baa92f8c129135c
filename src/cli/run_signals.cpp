// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run_signals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>

namespace sonde::cli {
namespace {

// Signals to a group are sent in one go, but to each process of a job one by one.
constexpr int kPatienceMs = 20;

[[noreturn]] void witness(int out, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
  for (;;) {
    const int number = ::sigwaitinfo(&all, nullptr);
    const auto byte = static_cast<unsigned char>(number);
    if (number > 0 && ::write(out, &byte, 1) < 0) ::_exit(0);
  }
}

}  // namespace

GroupWitness::GroupWitness() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) witness(ends[1], parent);
  ::close(ends[1]);
  pipe_ = ends[0];
}

GroupWitness::~GroupWitness() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (pipe_ >= 0) ::close(pipe_);
}

bool GroupWitness::saw(int number) const {
  pollfd waiting = {pipe_, POLLIN, 0};
  while (::poll(&waiting, 1, kPatienceMs) > 0 && (waiting.revents & POLLIN) != 0) {
    unsigned char seen = 0;
    if (::read(pipe_, &seen, 1) != 1) return false;
    if (seen == number) return true;
  }
  return false;
}

sigset_t relayed_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD})
    ::sigaddset(&set, number);
  return set;
}

}  // namespace sonde::cli
