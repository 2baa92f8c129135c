// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ends of all kinds.

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "awkward.h"

namespace awkward {
namespace {

int die_by(int number) {
  ::raise(number);
  return 98;
}

int overflow_stack(volatile char* above) {
  volatile char here[4096];
  here[0] = *above;
  SONDE_SCOPE("deeper");
  if (here[0] == 'x') return 0;
  return overflow_stack(here) + here[0];
}

int crash_in_thread() {
  std::thread([] {
    work(10);
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  }).join();
  return 98;
}

int exit_from_thread() {
  std::thread([] {
    work(10);
    std::exit(6);
  }).join();
  return 98;
}

int exit_while_others_work() {
  for (int i = 0; i < 4; ++i) {
    std::thread([] {
      for (;;) work(100);
    }).detach();
  }
  pause_ms(5);
  return 7;
}

int end_main_thread_last() {
  ::pthread_exit(nullptr);
}

int end_main_thread_first() {
  std::thread([] {
    pause_ms(30);
    work(100);
    say("worker");
  }).detach();
  ::pthread_exit(nullptr);
}

int end_main_thread_then_exit() {
  std::thread([] {
    pause_ms(150);
    work(100);
    std::exit(5);
  }).detach();
  ::pthread_exit(nullptr);
}

struct LateRecorder {
  ~LateRecorder() {
    work(10);
    say("destructor");
  }
};
LateRecorder late;

int register_handlers() {
  std::atexit([] {
    work(10);
    say("atexit");
  });
  return 4;
}

int exit_in_handler() {
  ::signal(SIGUSR1, [](int) { ::_exit(9); });
  ::raise(SIGUSR1);
  return 98;
}

int abort_with_handler() {
  ::signal(SIGABRT, [](int) { say("handler"); });
  std::abort();
}

sigjmp_buf after_crash;

int survive_crash() {
  ::signal(SIGSEGV, [](int) { ::siglongjmp(after_crash, 1); });
  static int crashes = 0;
  while (++crashes < 100) {
    if (sigsetjmp(after_crash, 1) != 0) continue;
    SONDE_SCOPE("crashes");
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  }
  say("survived");
  return 0;
}

const Add added{
    {"exit_0", [] { return 0; }},
    {"exit_255", [] { return 255; }},
    {"exit_early", []() -> int { std::exit(3); }},
    {"_exit", []() -> int { ::_exit(3); }},
    {"_Exit", []() -> int { std::_Exit(3); }},
    {"quick_exit", []() -> int { std::quick_exit(3); }},
    {"exit_group", []() -> int { return static_cast<int>(::syscall(SYS_exit_group, 3)); }},
    {"exit_thread_call", []() -> int { return static_cast<int>(::syscall(SYS_exit, 3)); }},
    {"abort", []() -> int { std::abort(); }},
    {"abort_with_handler", abort_with_handler},
    {"throw", []() -> int { throw std::runtime_error("nobody catches it"); }},
    {"terminate", []() -> int { std::terminate(); }},
    {"sigterm", [] { return die_by(SIGTERM); }},
    {"sigkill", [] { return die_by(SIGKILL); }},
    {"sigsegv", [] { return die_by(SIGSEGV); }},
    {"sigpipe", [] { return die_by(SIGPIPE); }},
    {"sigusr2", [] { return die_by(SIGUSR2); }},
    {"sigrtmax", [] { return die_by(SIGRTMAX); }},
    {"stack_overflow",
     [] {
       volatile char first = 0;
       return overflow_stack(&first);
     }},
    {"crash_in_thread", crash_in_thread},
    {"exit_from_thread", exit_from_thread},
    {"exit_while_others_work", exit_while_others_work},
    {"main_thread_ends_last", end_main_thread_last},
    {"main_thread_ends_first", end_main_thread_first},
    {"main_thread_ends_then_exit", end_main_thread_then_exit},
    {"atexit", register_handlers},
    {"exit_in_handler", exit_in_handler},
    {"survive_crash", survive_crash},
};

}  // namespace
}  // namespace awkward
