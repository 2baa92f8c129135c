// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals, and handlers that record on stacks of all sizes.

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "awkward.h"

namespace awkward {
namespace {

volatile sig_atomic_t heard = 0;

int count_signals() {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (number != SIGKILL && number != SIGSTOP) ::signal(number, [](int) { heard = heard + 1; });
  }
  for (int number = 1; number <= SIGRTMAX; ++number) {
    const bool is_ours = number == 32 || number == 33;  // the C library's
    if (number != SIGKILL && number != SIGSTOP && !is_ours) ::raise(number);
  }
  say(std::to_string(heard) + " signals");
  return 0;
}

void record_in_handler(int) {
  SONDE_SCOPE("handler");
  heard = heard + 1;
}

int record_by_timer() {
  ::signal(SIGPROF, record_in_handler);
  const itimerval often = {{0, 200}, {0, 200}};
  ::setitimer(ITIMER_PROF, &often, nullptr);
  while (heard < 50) work(1000);
  const itimerval never = {};
  ::setitimer(ITIMER_PROF, &never, nullptr);
  say("heard");
  return 0;
}

// The handler's stack is above a page that may not be touched.
int record_on_small_stack(std::size_t bytes) {
  const std::size_t page = 4096;
  char* const memory = static_cast<char*>(
      ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::mprotect(memory, page, PROT_NONE);
  std::thread([&] {
    const stack_t alternate = {memory + page, 0, bytes};
    if (::sigaltstack(&alternate, nullptr) != 0) return say("too small");
    struct sigaction action = {};
    action.sa_handler = record_in_handler;
    action.sa_flags = SA_ONSTACK;
    ::sigaction(SIGUSR1, &action, nullptr);
    for (int i = 0; i < 50; ++i) ::raise(SIGUSR1);  // the first is the thread's first event
    stack_t off = {};
    off.ss_flags = SS_DISABLE;
    ::sigaltstack(&off, nullptr);
  }).join();
  say(std::to_string(heard));
  return 0;
}

int read_signalfd() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGUSR1);
  ::sigaddset(&wanted, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const int fd = ::signalfd(-1, &wanted, SFD_CLOEXEC);
  ::kill(::getpid(), SIGUSR1);
  signalfd_siginfo info = {};
  const bool read = ::read(fd, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
  say(read && info.ssi_signo == SIGUSR1 ? "read" : "lost");
  pollfd more = {fd, POLLIN, 0};
  say(::poll(&more, 1, 20) == 0 ? "no more" : "more");
  return 0;
}

int wait_with_all_blocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ::kill(::getpid(), SIGTERM);
  ::kill(::getpid(), SIGUSR2);
  work(1000);
  int first = 0;
  int second = 0;
  ::sigwait(&all, &first);
  ::sigwait(&all, &second);
  say(std::to_string(first) + " " + std::to_string(second));
  return 0;
}

int die_by_alarm() {
  ::alarm(1);
  for (;;) {
    work(10);
    pause_ms(1);
  }
}

int interrupt_system_call() {
  struct sigaction action = {};
  action.sa_handler = record_in_handler;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval once = {{0, 0}, {0, 20000}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
  say(::pause() == -1 && heard == 1 ? "interrupted" : "not interrupted");
  return 0;
}

int queue_signals() {
  struct sigaction action = {};
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    heard = heard + info->si_value.sival_int;
  };
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGRTMIN, &action, nullptr);
  for (int i = 1; i <= 100; ++i) {
    const sigval value = {.sival_int = i};
    ::sigqueue(::getpid(), SIGRTMIN, value);
  }
  say(std::to_string(heard));
  return 0;
}

const Add added{
    {"count_signals", count_signals},
    {"record_by_timer", record_by_timer},
    {"stack_handler_minimum",
     [] {
       return record_on_small_stack(static_cast<std::size_t>(::sysconf(_SC_MINSIGSTKSZ)) + 4096);
     }},
    {"stack_handler_8", [] { return record_on_small_stack(8192 + 4096); }},
    {"stack_handler_12", [] { return record_on_small_stack(12288 + 4096); }},
    {"stack_handler_16", [] { return record_on_small_stack(16384); }},
    {"stack_handler_64", [] { return record_on_small_stack(65536); }},
    {"read_signalfd", read_signalfd},
    {"wait_with_all_blocked", wait_with_all_blocked},
    {"die_by_alarm", die_by_alarm},
    {"interrupt_system_call", interrupt_system_call},
    {"queue_signals", queue_signals},
};

}  // namespace
}  // namespace awkward
