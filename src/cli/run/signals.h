// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Passes the signals that reach `sonde run` on to the program, except those that the program also
// got because they were sent to the whole process group.
//
// A witness tells whether the group got a signal: a tiny process in the same group that keeps every
// signal blocked and answers whether it has one. The kernel signals a group in one go, so the
// witness has the signal when we ask. Some senders, such as batch systems, signal the processes of
// a job one by one. So a signal that the witness does not have is held back for 20 ms. All signals
// are held back equally, so their order and the time between them stay the same.

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>

namespace sonde::cli {

// A set for system calls: signal N is bit N - 1. The C library's functions leave out the two
// signals that it uses itself, but anybody can send those.
using SignalBits = std::uint64_t;

// Blocks the relayed signals in the calling thread while it lives. Signals that have arrived by its
// end are discarded: they were for a program that has ended.
class RelayedSignalsBlocked {
 public:
  RelayedSignalsBlocked();
  ~RelayedSignalsBlocked();
  RelayedSignalsBlocked(const RelayedSignalsBlocked&) = delete;
  RelayedSignalsBlocked& operator=(const RelayedSignalsBlocked&) = delete;
  // In a child that becomes the program: restores the earlier state.
  void restore() const;

 private:
  SignalBits before_ = 0;
};

class GroupWitness {
 public:
  // If that process cannot be started, no signal counts as seen.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // Whether the group got this signal too, from the same sender. Asks about each signal once.
  bool saw(const siginfo_t& signal) const;

 private:
  bool answer() const;

  pid_t pid_ = -1;
  int socket_ = -1;
};

class SignalRelay {
 public:
  SignalRelay(pid_t program, const GroupWitness& witness) : program_(program), witness_(witness) {}

  // Passes on signals until a child has stopped or ended.
  void wait_for_child();
  // Stops this process like the program, until it is continued.
  void stop_too(int number);

 private:
  struct Held {
    siginfo_t signal;
    std::int64_t due_ns;
  };
  void hold(const siginfo_t& signal);
  void pass_on_what_is_due();
  void forget_stops();
  void send(const siginfo_t& signal) const;

  pid_t program_;
  const GroupWitness& witness_;
  std::deque<Held> held_;
};

}  // namespace sonde::cli
