// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Children of all kinds.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "awkward.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace awkward {
namespace {

template <typename Body>
std::string in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::exit(11);
  }
  return ended(child);
}

int fork_many() {
  for (int i = 0; i < 20; ++i) {
    say(in_child([i] {
      work(10);
      ::_exit(i);
    }));
  }
  return 0;
}

int fork_and_record() {
  say(in_child([] {
    pause_ms(30);
    work(100);
  }));
  return 0;
}

int fork_and_die() {
  say(in_child([] {
    pause_ms(15);
    work(100);
    ::raise(SIGKILL);
  }));
  return 0;
}

int fork_in_thread() {
  std::thread([] {
    work(10);
    say(in_child([] { work(10); }));
  }).join();
  return 0;
}

// Others record and allocate while it forks: no lock may be found taken.
int fork_while_others_work() {
  std::atomic<bool> stop{false};
  std::thread others[3];
  for (std::thread& other : others) {
    other = std::thread([&] {
      while (!stop) {
        work(100);
        std::string text(1000, 'x');
        sonde_mark(text.data(), 10);
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const std::string how = in_child([] {
      work(10);
      std::string text(1000, 'y');
      ::_exit(text.size() == 1000 ? 0 : 1);
    });
    if (how != "exit 0") say(how);
  }
  stop = true;
  for (std::thread& other : others) other.join();
  return 0;
}

// Each time a scope that was never seen before.
void record_another_site(int) {
  static sonde_site sites[5000];
  static unsigned used = 0;
  if (used == sizeof(sites) / sizeof(sites[0])) return;
  sonde_site& site = sites[used++];
  site.name = "in a handler";
  if (sonde_begin(&site) != 0) sonde_end();
}

// The recorder's locks are held while it forks, and the handler wants them.
int fork_under_signals() {
  struct sigaction action = {};
  action.sa_handler = record_another_site;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  // Not so often that a fork is interrupted again and again.
  const itimerval often = {{0, 2000}, {0, 2000}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 100; ++i) {
    work(10);
    const std::string how = in_child([] { ::_exit(0); });
    if (how != "exit 0") say(how);
  }
  const itimerval never = {};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  return 0;
}

int daemonise() {
  int ends[2];
  if (::pipe(ends) != 0) return 98;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (int fd = 0; fd < 1024; ++fd) {
      if (fd != ends[1]) ::close(fd);
    }
    work(100);
    pause_ms(20);
    const bool told = ::write(ends[1], "x", 1) == 1;
    std::exit(told ? 0 : 1);
  }
  say(ended(child));
  ::close(ends[1]);
  char answer = 0;
  say(::read(ends[0], &answer, 1) == 1 ? "told" : "silent");
  while (::read(ends[0], &answer, 1) > 0) {
  }
  return 0;
}

int spawn(const char* program, const char* argument) {
  char* words[] = {const_cast<char*>(program), const_cast<char*>(argument), nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, program, nullptr, nullptr, words, environ) != 0) return 98;
  say(ended(child));
  return 0;
}

int exec_shell() {
  ::execl("/bin/sh", "sh", "-c", "echo shell; exit 12", nullptr);
  return 98;
}

int exec_in_thread() {
  std::thread([] { exec_shell(); }).join();
  return 98;
}

int exec_without_environment() {
  char* none[] = {nullptr};
  char* words[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                   const_cast<char*>("echo $LD_PRELOAD.; exit 4"), nullptr};
  ::execve("/bin/sh", words, none);
  return 98;
}

int vfork_and_exec() {
  const pid_t child = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): as Python's
  if (child == 0) {
    ::execl("/bin/false", "false", nullptr);
    ::_exit(98);
  }
  say(ended(child));
  return 0;
}

// As CLONE_VM without CLONE_THREAD: a process of its own in our memory.
int clone_in_same_memory() {
  static char stack[1 << 16];
  const int child =
      ::clone([](void*) { return 5; }, stack + sizeof(stack), CLONE_VM | SIGCHLD, nullptr);
  say(ended(child));
  work(10);
  return 0;
}

int orphan_child() {
  if (::fork() == 0) {
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
    pause_ms(40);
    work(100);
    std::exit(0);
  }
  return 3;
}

int wait_for_any() {
  for (int i = 0; i < 3; ++i) {
    if (::fork() == 0) ::_exit(2);
  }
  int count = 0;
  while (::wait(nullptr) > 0) ++count;
  say(std::to_string(count) + " children");
  return 0;
}

const Add added{
    {"fork_many", fork_many},
    {"fork_and_record", fork_and_record},
    {"fork_and_die", fork_and_die},
    {"fork_in_thread", fork_in_thread},
    {"fork_while_others_work", fork_while_others_work},
    {"fork_under_signals", fork_under_signals},
    {"daemonise", daemonise},
    {"spawn", [] { return spawn("/bin/echo", "spawned"); }},
    {"spawn_missing", [] { return spawn("/no/such/program", "x"); }},
    {"system", [] { return WEXITSTATUS(std::system("echo from the shell; exit 9")); }},
    {"exec", exec_shell},
    {"exec_in_thread", exec_in_thread},
    {"exec_without_environment", exec_without_environment},
    {"vfork_and_exec", vfork_and_exec},
    {"clone_in_same_memory", clone_in_same_memory},
    {"orphan", orphan_child},
    {"wait_for_any", wait_for_any},
};

}  // namespace
}  // namespace awkward
