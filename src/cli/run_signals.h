// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Distinguishes signals sent to this process alone from those sent to its whole process group:
// a tiny process in the same group, which only reports the signals that reach it.

#include <signal.h>
#include <sys/types.h>

namespace sonde::cli {

class GroupWitness {
 public:
  // If that process cannot be started, no signal counts as seen.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // Whether the group got it too. Waits a moment for the answer; asks about each signal once.
  bool saw(int number) const;

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

// Signals that a user or the system sends to a program, and SIGCHLD.
sigset_t relayed_signals();

}  // namespace sonde::cli
