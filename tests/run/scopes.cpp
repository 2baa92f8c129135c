// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with scopes and no profiler, to be recorded from outside.
//
// clang-format off
//   run_scopes work COUNT STATUS     that many scopes, then exit(STATUS)
//   run_scopes _exit|_Exit|quick_exit|abort|throw COUNT
//                                    the same, then ends so
//   run_scopes wait FILE             scopes until it is killed; FILE appears when it has begun
//   run_scopes count-signals FILE    the same, and exits with the number of SIGINTs in 300 ms
//   run_scopes tell-signals FILE     prints "NUMBER VALUE" of each signal; ends by the alarm's
//   run_scopes stop NUMBER FILE      stops by that signal; when continued, makes FILE and exits with 3
//   run_scopes fork COUNT            a child of fork() records too, then both exit
//   run_scopes fork-_exit COUNT      the same, and the child ends by _exit()
//   run_scopes fork-idle COUNT       a child of fork() does nothing, then the parent records
//   run_scopes fork-brief COUNT      the same with 40 children, which live for 10 to 14 ms
//   run_scopes vfork COUNT           scopes, a child of vfork() that only calls _exit(), scopes
//   run_scopes kill|raise COUNT      scopes, then ends by SIGTERM, which it sends itself
//   run_scopes waits COUNT           scopes, SIGTERM to itself, which is blocked and waited for, scopes
//   run_scopes cancelled COUNT       scopes, then ends by _exit() in a thread that is cancelled
//   run_scopes survives COUNT        scopes, abort(), whose signal's handler jumps away, scopes
//   run_scopes handler COUNT         scopes, then ends by _exit() in a signal's handler
//   run_scopes daemon COUNT          scopes, closes all descriptors, and has their numbers for files
//                                    of its own, own-0 and so on, while it works as much again
//   run_scopes held COUNT READY GO   scopes; READY appears; exits with 42 when GO appears
//   run_scopes chroot COUNT          scopes, in a folder of its own that becomes the root
//   run_scopes last-thread COUNT     scopes, then the first thread ends, and later the last
//   run_scopes no-counter COUNT      scopes, forbids itself to read the processor's counter, scopes,
//                                    also in another thread
//   run_scopes strict COUNT          scopes, forbids itself nearly all system calls, scopes
//   run_scopes limit COUNT           scopes, and may write no more than 4 KiB to any file
//   run_scopes steps COUNT SLOW      that many steps of 2 ms, the one of that number of 200 ms
//   run_scopes trap COUNT            scopes, then ends by a trap of the processor
//   run_scopes held-back|trap-late COUNT
//                                    scopes, and as many after 300 ms; then exit(42) or a trap
//   run_scopes spawn PROGRAM ARGS…   starts another program, and exits with its status
//   run_scopes environment           prints LD_PRELOAD and how many SONDE_RUN_ variables there are
// clang-format on

#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sonde/record.h>
#include <sonde/source/op.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace {

std::atomic<int> interrupts{0};

void work(int count) {
  for (int i = 0; i < count; ++i) {
    SONDE_SCOPE("work");
  }
}

void pause_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void touch(const char* path) {
  if (FILE* file = std::fopen(path, "w")) std::fclose(file);
}

[[noreturn]] void work_for_ever(const char* ready) {
  for (bool first = true;; first = false) {
    work(10);
    if (first) touch(ready);
    pause_ms(1);
  }
}

int count_signals(const char* ready) {
  ::signal(SIGINT, [](int) { ++interrupts; });
  touch(ready);
  while (interrupts == 0) pause_ms(1);
  pause_ms(300);
  return interrupts;
}

void tell_signal(int number, siginfo_t* info, void*) {
  char line[64];
  const int value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
  const int length = std::snprintf(line, sizeof(line), "%d %d\n", number, value);
  if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length) ::_exit(98);
  if (number == SIGALRM) ::_exit(0);
}

[[noreturn]] void tell_signals(const char* ready) {
  struct sigaction told = {};
  told.sa_sigaction = tell_signal;
  told.sa_flags = SA_SIGINFO;
  ::sigfillset(&told.sa_mask);
  for (int number = 1; number <= SIGRTMAX; ++number) ::sigaction(number, &told, nullptr);
  touch(ready);
  for (;;) ::pause();
}

int stop_by(int number, const char* continued) {
  ::raise(number);
  touch(continued);
  return 3;
}

int fork_and_work(int count, bool cleans_up) {
  work(count);
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) {
      work(count);
      pause_ms(2);
    }
    if (!cleans_up) ::_exit(0);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

void fork_idle(std::chrono::microseconds life) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::this_thread::sleep_for(life);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

int fork_idle_and_work(int count, bool is_brief) {
  constexpr int kBrief = 40;
  if (!is_brief) fork_idle(std::chrono::milliseconds(100));
  for (int i = 0; is_brief && i < kBrief; ++i)
    fork_idle(std::chrono::microseconds(10'000 + i * 100));
  work(count);
  return 0;
}

int vfork_and_work(int count) {
  work(count);
  const pid_t child = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): as Python's
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  work(count);
  return 0;
}

int wait_for_signal_and_work(int count) {
  work(count);
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);
  ::raise(SIGTERM);
  ::raise(SIGCHLD);  // does not end the process
  int number = 0;
  ::sigwait(&awaited, &number);
  work(count);
  return 0;
}

[[noreturn]] void exit_cancelled() {
  std::thread([] {
    ::pthread_cancel(::pthread_self());
    ::_exit(7);
  }).join();
  std::exit(98);
}

sigjmp_buf after_abort;

int survive_and_work(int count) {
  work(count);
  ::signal(SIGABRT, [](int) { ::siglongjmp(after_abort, 1); });
  if (sigsetjmp(after_abort, 1) == 0) std::abort();
  work(count);
  return 0;
}

int close_all_and_work(int count) {
  constexpr int kAll = 1024;
  constexpr int kOwn = 300;
  work(count);
  for (int fd = 3; fd < kAll; ++fd) ::close(fd);
  for (int i = 0; i < kOwn; ++i) {
    const std::string name = "own-" + std::to_string(i);
    if (::open(name.c_str(), O_RDWR | O_CREAT, 0600) < 0) return 98;
  }
  for (int i = 0; i < 20; ++i) {  // recorded events are written meanwhile
    work(count / 20);
    pause_ms(20);
  }
  return 0;
}

int work_under_limit(int count) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {4096, 4096};
  ::setrlimit(RLIMIT_FSIZE, &small);
  work(count);
  return 0;
}

[[noreturn]] void end_first_thread(int count) {
  work(count);
  std::thread([count] {
    work(count);
    std::thread([count] {
      pause_ms(20);
      work(count);
    }).detach();
  }).detach();
  ::pthread_exit(nullptr);
}

int work_without_counter(int count) {
  work(count);
#if defined(__x86_64__)
  if (::prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return 98;
#endif
  work(count);
  std::thread(work, count).join();
  return 0;
}

int work_strictly(int count) {
  work(count);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  work(count);
  return static_cast<int>(::syscall(SYS_exit, 0));
}

int work_in_another_root(int count) {
  if (::mkdir("root", 0700) != 0 || ::chroot("root") != 0 || ::chdir("/") != 0) return 98;
  work(count);
  return 0;
}

int work_and_wait(int count, const char* ready, const char* go) {
  work(count);
  touch(ready);
  while (::access(go, F_OK) != 0) pause_ms(1);
  return 42;
}

int work_in_steps(int count, int slow) {
  for (int i = 0; i < count; ++i) {
    work(10);
    pause_ms(i == slow ? 200 : 2);
    sonde_steps_ended("Optimizer.step#SGD.step", 1);
  }
  return 0;
}

int spawn(char** command) {
  pid_t child = 0;
  if (::posix_spawn(&child, command[0], nullptr, nullptr, command, environ) != 0) return 99;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int print_environment() {
  int count = 0;
  for (char** variable = environ; *variable != nullptr; ++variable)
    count += std::strncmp(*variable, "SONDE_RUN_", 10) == 0 ? 1 : 0;
  const char* preload = std::getenv("LD_PRELOAD");
  std::printf("%s %d\n", preload != nullptr ? preload : "-", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "environment") return print_environment();
  if (argc < 3) return 2;
  if (what == "wait") work_for_ever(argv[2]);
  if (what == "count-signals") return count_signals(argv[2]);
  if (what == "tell-signals") tell_signals(argv[2]);
  if (what == "stop" && argc > 3) return stop_by(std::atoi(argv[2]), argv[3]);
  if (what == "spawn") return spawn(argv + 2);
  const int count = std::atoi(argv[2]);
  if (what == "fork" || what == "fork-_exit") return fork_and_work(count, what == "fork");
  if (what == "vfork") return vfork_and_work(count);
  if (what == "fork-idle" || what == "fork-brief")
    return fork_idle_and_work(count, what == "fork-brief");
  if (what == "survives") return survive_and_work(count);
  if (what == "waits") return wait_for_signal_and_work(count);
  if (what == "daemon") return close_all_and_work(count);
  if (what == "limit") return work_under_limit(count);
  if (what == "last-thread") end_first_thread(count);
  if (what == "no-counter") return work_without_counter(count);
  if (what == "strict") return work_strictly(count);
  if (what == "chroot") return work_in_another_root(count);
  if (what == "held" && argc > 4) return work_and_wait(count, argv[3], argv[4]);
  if (what == "steps" && argc > 3) return work_in_steps(count, std::atoi(argv[3]));
  work(count);
  if (what == "held-back" || what == "trap-late") {
    pause_ms(300);
    work(count);
  }
  if (what == "held-back") return 42;
  if (what == "trap" || what == "trap-late") __builtin_trap();
  if (what == "_exit") ::_exit(7);
  if (what == "_Exit") std::_Exit(7);
  if (what == "quick_exit") std::quick_exit(7);
  if (what == "cancelled") exit_cancelled();
  if (what == "handler") {
    ::signal(SIGTERM, [](int) { ::_exit(7); });
    ::raise(SIGTERM);
  }
  if (what == "kill") ::kill(::getpid(), SIGTERM);
  if (what == "raise") ::raise(SIGTERM);
  if (what == "abort") std::abort();
  if (what == "throw") throw std::runtime_error("nobody catches it");
  return argc > 3 ? std::atoi(argv[3]) : 0;
}
