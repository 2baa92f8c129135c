// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/start_stop_signals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/signals.h"

namespace sonde {
namespace {

int start_number = 0;
int stop_number = 0;
int dump_number = 0;
std::atomic<pid_t> thread_to_wake{0};
std::atomic<unsigned> starts{0};
std::atomic<unsigned> stops{0};
std::atomic<unsigned> dumps{0};

void on_signal(int number, siginfo_t* info, void*) {
  const int kept_errno = errno;
  const pid_t wakes = thread_to_wake.load(std::memory_order_relaxed);
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  const bool is_our_wake = info->si_code == SI_TKILL && info->si_pid == ::getpid() && self == wakes;
  if (!is_our_wake) {
    if (number == start_number) starts.fetch_add(1, std::memory_order_relaxed);
    if (number == stop_number && stop_number != start_number)
      stops.fetch_add(1, std::memory_order_relaxed);
    if (number == dump_number) dumps.fetch_add(1, std::memory_order_relaxed);
    if (wakes != 0 && wakes != self) ::syscall(SYS_tgkill, ::getpid(), wakes, number);
  }
  errno = kept_errno;
}

Result<void> install(int number) {
  if (number == 0) return {};
  struct sigaction now = {};
  ::sigaction(number, nullptr, &now);
  const bool is_free =
      (now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
  if (!is_free) {
    return Failure(ErrorCode::Unsupported, "the program handles signal " + signal_text(number) +
                                               " itself, so Sonde cannot use it");
  }
  struct sigaction ours = {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(number, &ours, nullptr);
  return {};
}

// Decrements a counter that handlers increment; false if it is 0.
bool take(std::atomic<unsigned>& counter) {
  unsigned count = counter.load(std::memory_order_relaxed);
  while (count > 0 && !counter.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {
  }
  return count > 0;
}

}  // namespace

Result<void> install_start_stop_signals(int start, int stop, int dump) {
  start_number = start;
  stop_number = stop;
  dump_number = dump;
  SONDE_TRY_VOID(install(start));
  if (stop != start) SONDE_TRY_VOID(install(stop));
  return install(dump);
}

void wake_this_thread_by_signals() {
  thread_to_wake.store(static_cast<pid_t>(::syscall(SYS_gettid)));
}

sigset_t wake_mask() {
  sigset_t mask;
  ::sigfillset(&mask);
  if (start_number != 0) ::sigdelset(&mask, start_number);
  if (stop_number != 0) ::sigdelset(&mask, stop_number);
  if (dump_number != 0) ::sigdelset(&mask, dump_number);
  return mask;
}

SignalRequest next_signal_request() {
  if (take(starts))
    return start_number == stop_number ? SignalRequest::Toggle : SignalRequest::Start;
  if (take(stops)) return SignalRequest::Stop;
  return take(dumps) ? SignalRequest::Dump : SignalRequest::None;
}

}  // namespace sonde
