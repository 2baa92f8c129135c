// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ends of a program that run no handlers: _exit(), which Python's os._exit() and the children of
// its multiprocessing come to, abort(), which an exception that nobody catches comes to, and a
// signal to itself, which Python sends after a KeyboardInterrupt. These functions are ours, and ask
// the agent to finish the recording first: what devices still hold would be lost.
//
// They may be called in a signal handler, with any lock held, and in a child that still uses its
// parent's memory. So the agent's thread does it, is asked through its socket by system calls alone
// (src/agent/control.h), and is waited for only so long. A child that has just been forked has no
// agent yet, and finds no socket.

#include "preload/endings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "agent/run_environment.h"
#include "preload/decimal.h"

namespace {

using Exit = void(int);
using Abort = void();
using Kill = int(pid_t, int);
using Raise = int(int);

constexpr timeval kPatience = {2, 0};

std::atomic<bool> agent_came{false};  // to this process, or to one that it was forked from
std::atomic<Exit*> next_exit{nullptr};
std::atomic<Abort*> next_abort{nullptr};
std::atomic<Kill*> next_kill{nullptr};
std::atomic<Raise*> next_raise{nullptr};

// The address of this process's agent, and its length.
socklen_t name_agent(sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  char* at = address.sun_path + 1;  // sun_path[0] stays 0: it lies in no folder
  const std::size_t prefix = ::strlen(sonde::kControlPrefix);
  ::memcpy(at, sonde::kControlPrefix, prefix);
  at = sonde::put_decimal(at + prefix, ::getpid());
  return static_cast<socklen_t>(at - reinterpret_cast<char*>(&address));
}

// Another process may have this one's number, in another namespace.
bool is_of_this_process(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == ::getpid();
}

void ask_to_end(int socket) {
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  sockaddr_un address;
  const socklen_t size = name_agent(address);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0) return;
  if (!is_of_this_process(socket)) return;
  constexpr char kRequest[] = "end\n";
  if (::send(socket, kRequest, sizeof(kRequest) - 1, MSG_NOSIGNAL) < 0) return;
  char answer[64];
  while (::recv(socket, answer, sizeof(answer), 0) > 0) {
  }
}

void end_recording() {
  if (!agent_came.load(std::memory_order_relaxed)) return;
  const int kept_errno = errno;
  int kept_state = 0;
  sigset_t all;
  sigset_t kept;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &kept_state);
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &kept);  // so that no signal ends the wait
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket >= 0) {
    ask_to_end(socket);
    ::close(socket);
  }
  ::pthread_sigmask(SIG_SETMASK, &kept, nullptr);
  ::pthread_setcancelstate(kept_state, nullptr);
  errno = kept_errno;
}

// Whether a recorded process ends if it gets that signal.
bool is_deadly(int number) {
  if (!agent_came.load(std::memory_order_relaxed)) return false;
  constexpr int kHarmless[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
                               SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  for (const int harmless : kHarmless) {
    if (number == harmless) return false;
  }
  struct sigaction now = {};
  if (::sigaction(number, nullptr, &now) != 0) return false;
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

// One that is blocked may be waited for.
bool is_blocked(int number) {
  sigset_t blocked;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0 ||
         ::sigismember(&blocked, number) != 0;
}

[[noreturn]] void exit_now(int status) {
  for (;;) ::syscall(SYS_exit_group, status);
}

[[noreturn]] void end_and_exit(int status) {
  end_recording();
  if (Exit* const next = next_exit.load(std::memory_order_relaxed)) next(status);
  exit_now(status);
}

}  // namespace

namespace sonde {

void find_next_endings() {
  next_exit.store(reinterpret_cast<Exit*>(::dlsym(RTLD_NEXT, "_exit")));
  next_abort.store(reinterpret_cast<Abort*>(::dlsym(RTLD_NEXT, "abort")));
  next_kill.store(reinterpret_cast<Kill*>(::dlsym(RTLD_NEXT, "kill")));
  next_raise.store(reinterpret_cast<Raise*>(::dlsym(RTLD_NEXT, "raise")));
}

}  // namespace sonde

#define SONDE_EXPORT __attribute__((visibility("default")))

extern "C" {

SONDE_EXPORT void sonde_preload_agent_came() {
  agent_came.store(true);
}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names
SONDE_EXPORT void _exit(int status) {
  end_and_exit(status);
}
SONDE_EXPORT void _Exit(int status) noexcept {
  end_and_exit(status);
}
SONDE_EXPORT void abort() noexcept {
  if (is_deadly(SIGABRT)) end_recording();  // a handler may go on elsewhere
  if (Abort* const next = next_abort.load(std::memory_order_relaxed)) next();
  ::signal(SIGABRT, SIG_DFL);
  ::syscall(SYS_kill, ::getpid(), SIGABRT);
  exit_now(127);
}
SONDE_EXPORT int kill(pid_t pid, int number) noexcept {
  if ((pid == 0 || pid == ::getpid()) && is_deadly(number) && !is_blocked(number)) end_recording();
  if (Kill* const next = next_kill.load(std::memory_order_relaxed)) return next(pid, number);
  return static_cast<int>(::syscall(SYS_kill, pid, number));
}
SONDE_EXPORT int raise(int number) noexcept {
  if (is_deadly(number) && !is_blocked(number)) end_recording();
  if (Raise* const next = next_raise.load(std::memory_order_relaxed)) return next(number);
  return static_cast<int>(::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number));
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // extern "C"
