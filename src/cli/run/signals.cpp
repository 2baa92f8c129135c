// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/signals.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sonde::cli {
namespace {

constexpr std::int64_t kPatienceNs = 20'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;

constexpr SignalBits bit_of(int number) {
  return SignalBits{1} << (number - 1);
}

// All signals that can be blocked.
constexpr SignalBits kRelayed = ~(bit_of(SIGKILL) | bit_of(SIGSTOP));

SignalBits change_mask(int how, SignalBits signals) {
  SignalBits before = 0;
  ::syscall(SYS_rt_sigprocmask, how, &signals, &before, sizeof(signals));
  return before;
}

// Returns the signal's number; -1 if none came in time. With a null timeout, it waits for ever.
int take_signal(SignalBits signals, siginfo_t& info, const timespec* timeout) {
  return static_cast<int>(
      ::syscall(SYS_rt_sigtimedwait, &signals, &info, timeout, sizeof(signals)));
}

std::int64_t monotonic_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kSecondNs + now.tv_nsec;
}

bool is_one_sending(const siginfo_t& a, const siginfo_t& b) {
  return a.si_code == b.si_code && a.si_pid == b.si_pid && a.si_uid == b.si_uid &&
         (a.si_code != SI_QUEUE || a.si_value.sival_ptr == b.si_value.sival_ptr);
}

// Discards signals from other senders: they belong to signals that were passed on already.
char has_pending(const siginfo_t& asked) {
  const timespec at_once = {};
  siginfo_t taken = {};
  while (take_signal(bit_of(asked.si_signo), taken, &at_once) > 0) {
    if (is_one_sending(asked, taken)) return 1;
  }
  return 0;
}

[[noreturn]] void be_witness(int socket, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
  siginfo_t asked = {};
  while (::recv(socket, &asked, sizeof(asked), 0) == sizeof(asked)) {
    const char answer = has_pending(asked);
    if (::send(socket, &answer, 1, MSG_NOSIGNAL) != 1) break;
  }
  ::_exit(0);
}

bool stops(int number) {
  return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

}  // namespace

RelayedSignalsBlocked::RelayedSignalsBlocked() : before_(change_mask(SIG_BLOCK, kRelayed)) {}

RelayedSignalsBlocked::~RelayedSignalsBlocked() {
  const timespec at_once = {};
  siginfo_t ignored = {};
  while (take_signal(kRelayed & ~before_, ignored, &at_once) > 0) {
  }
  restore();
}

void RelayedSignalsBlocked::restore() const {
  change_mask(SIG_SETMASK, before_);
}

GroupWitness::GroupWitness() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    be_witness(ends[1], parent);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

GroupWitness::~GroupWitness() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) ::close(socket_);
}

bool GroupWitness::saw(const siginfo_t& signal) const {
  if (pid_ <= 0) return false;
  // Changes nothing, but waits for the lock that the kernel holds while it signals a group.
  ::setpgid(pid_, ::getpgrp());
  if (::send(socket_, &signal, sizeof(signal), MSG_NOSIGNAL) < 0) return false;
  return answer();
}

// The witness may have been stopped with the group, and not continued with us.
bool GroupWitness::answer() const {
  constexpr int kPatienceMs = 20;
  pollfd waiting = {socket_, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&waiting, 1, kPatienceMs);
    if (ready > 0) break;
    int status = 0;
    const bool has_changed = ::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_;
    if (has_changed && WIFSTOPPED(status)) ::kill(pid_, SIGCONT);
  }
  char seen = 0;
  return ::recv(socket_, &seen, 1, 0) == 1 && seen != 0;
}

void SignalRelay::wait_for_child() {
  for (;;) {
    timespec patience = {};
    if (!held_.empty()) {
      const std::int64_t left = std::max<std::int64_t>(held_.front().due_ns - monotonic_ns(), 0);
      patience = {left / kSecondNs, left % kSecondNs};
    }
    siginfo_t signal = {};
    const int number = take_signal(kRelayed, signal, held_.empty() ? nullptr : &patience);
    const bool is_of_child = number == SIGCHLD && signal.si_code > 0;
    if (number > 0 && !is_of_child) hold(signal);
    pass_on_what_is_due();
    if (number == SIGCHLD) return;  // even a sent one: it may hide that a child ended
  }
}

void SignalRelay::hold(const siginfo_t& signal) {
  // As in the kernel: a signal that continues cancels those that stop.
  if (signal.si_signo == SIGCONT) forget_stops();
  const bool is_from_program = signal.si_code <= 0 && signal.si_pid == program_;
  if (witness_.saw(signal) || is_from_program) return;
  held_.push_back({signal, monotonic_ns() + kPatienceNs});
}

void SignalRelay::pass_on_what_is_due() {
  while (!held_.empty() && held_.front().due_ns <= monotonic_ns()) {
    if (!witness_.saw(held_.front().signal)) send(held_.front().signal);
    held_.pop_front();
  }
}

// Includes its value, if it has one.
void SignalRelay::send(const siginfo_t& signal) const {
  const bool has_value = signal.si_code == SI_QUEUE;
  const bool is_sent =
      has_value && ::syscall(SYS_rt_sigqueueinfo, program_, signal.si_signo, &signal) == 0;
  if (!is_sent) ::kill(program_, signal.si_signo);
}

void SignalRelay::forget_stops() {
  std::erase_if(held_, [](const Held& held) { return stops(held.signal.si_signo); });
}

void SignalRelay::stop_too(int number) {
  forget_stops();
  struct sigaction stopping = {};
  struct sigaction before = {};
  stopping.sa_handler = SIG_DFL;
  ::sigaction(number, &stopping, &before);  // fails for SIGSTOP, which does not need it
  // Sent first: if the group's signal is already pending, the two merge and stop us only once.
  ::kill(::getpid(), number);
  change_mask(SIG_UNBLOCK, bit_of(number));
  change_mask(SIG_BLOCK, bit_of(number) & kRelayed);
  ::sigaction(number, &before, nullptr);
}

}  // namespace sonde::cli
