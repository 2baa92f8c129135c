// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ways in which a program ends without running exit handlers: _exit(), which Python's os._exit()
// and its multiprocessing children call; abort(), which an uncaught exception calls; and a signal
// to itself, which Python sends after a KeyboardInterrupt. We replace these functions and first ask
// the agent to finish the recording, because what devices still hold would be lost.
//
// They may be called in a signal handler, with any lock held, and in a child that still uses its
// parent's memory. So the agent's thread does the work. It is asked through a pair of sockets that
// it has made (src/agent/control_server.h), with system calls that sandboxes allow, and the wait is
// limited. A child that has just been forked has no agent yet.

#include "preload/endings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "agent/run_environment.h"

namespace {

using Exit = void(int);
using Abort = void();
using Kill = int(pid_t, int);
using Raise = int(int);

std::atomic<pid_t> agent_process{0};  // whose agent listens; may be a parent of this process
std::atomic<int> agent_socket{-1};
std::atomic<unsigned long> agent_inode{0};
std::atomic<Exit*> next_exit{nullptr};
std::atomic<Abort*> next_abort{nullptr};
std::atomic<Kill*> next_kill{nullptr};
std::atomic<Raise*> next_raise{nullptr};

bool is_recorded() {
  return agent_process.load(std::memory_order_acquire) == ::getpid();  // pairs with agent_came
}

// The program may have closed it and reused its number.
bool is_agents(int socket) {
  struct stat facts = {};
  return ::fstat(socket, &facts) == 0 &&
         facts.st_ino == agent_inode.load(std::memory_order_relaxed);
}

struct Ending {
  bool is_signal;
  int number;  // the signal, or the exit status
};

// Waits for the answer as long as the timeout that the agent set for the socket.
void ask_to_end(int socket, const Ending& ending) {
  char request[32];
  std::size_t size = 0;
  const auto add = [&](const char* text) {
    while (*text != '\0') request[size++] = *text++;
  };
  add("end");
  if (ending.number > 0 && ending.number < 256) {
    add(ending.is_signal ? " signal " : " status ");
    if (ending.number >= 100) request[size++] = static_cast<char>('0' + ending.number / 100);
    if (ending.number >= 10) request[size++] = static_cast<char>('0' + ending.number / 10 % 10);
    request[size++] = static_cast<char>('0' + ending.number % 10);
  }
  if (::write(socket, request, size) < 0) return;
  char answer[64];
  const ssize_t got = ::read(socket, answer, sizeof(answer));
  static_cast<void>(got);
}

void end_recording(const Ending& ending) {
  if (!is_recorded()) return;
  const int kept_errno = errno;
  int kept_state = 0;
  sigset_t all;
  sigset_t kept;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &kept_state);
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &kept);  // so that no signal ends the wait
  const int socket = agent_socket.load(std::memory_order_relaxed);
  if (is_agents(socket)) ask_to_end(socket, ending);
  ::pthread_sigmask(SIG_SETMASK, &kept, nullptr);
  ::pthread_setcancelstate(kept_state, nullptr);
  errno = kept_errno;
}

// Whether that signal would end a recorded process.
bool is_deadly(int number) {
  if (!is_recorded()) return false;
  constexpr int kHarmless[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
                               SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  for (const int harmless : kHarmless) {
    if (number == harmless) return false;
  }
  struct sigaction now = {};
  if (::sigaction(number, nullptr, &now) != 0) return false;
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

// The program may wait for a blocked signal, so it does not end the process.
bool is_blocked(int number) {
  sigset_t blocked;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0 ||
         ::sigismember(&blocked, number) != 0;
}

[[noreturn]] void exit_now(int status) {
  for (;;) ::syscall(SYS_exit_group, status);
}

[[noreturn]] void end_and_exit(int status) {
  end_recording({false, status & 0xff});
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

SONDE_EXPORT void sonde_preload_agent_came(int socket, unsigned long inode) {
  agent_process.store(0);
  agent_socket.store(socket, std::memory_order_relaxed);
  agent_inode.store(inode, std::memory_order_relaxed);
  agent_process.store(::getpid(), std::memory_order_release);  // pairs with is_recorded
}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names
SONDE_EXPORT void _exit(int status) {
  end_and_exit(status);
}
SONDE_EXPORT void _Exit(int status) noexcept {
  end_and_exit(status);
}
SONDE_EXPORT void abort() noexcept {
  if (is_deadly(SIGABRT)) end_recording({true, SIGABRT});  // a handler may continue elsewhere
  if (Abort* const next = next_abort.load(std::memory_order_relaxed)) next();
  ::signal(SIGABRT, SIG_DFL);
  ::syscall(SYS_kill, ::getpid(), SIGABRT);
  exit_now(127);
}
SONDE_EXPORT int kill(pid_t pid, int number) noexcept {
  if ((pid == 0 || pid == ::getpid()) && is_deadly(number) && !is_blocked(number))
    end_recording({true, number});
  if (Kill* const next = next_kill.load(std::memory_order_relaxed)) return next(pid, number);
  return static_cast<int>(::syscall(SYS_kill, pid, number));
}
SONDE_EXPORT int raise(int number) noexcept {
  if (is_deadly(number) && !is_blocked(number)) end_recording({true, number});
  if (Raise* const next = next_raise.load(std::memory_order_relaxed)) return next(number);
  return static_cast<int>(::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number));
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // extern "C"
