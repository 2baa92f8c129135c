// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The signals that begin and end a recording, `sonde run --signal-start` and `--signal-stop`. A
// handler only counts; the agent's thread, which the handler wakes, does what they ask for.

#include <signal.h>

#include <string>

#include "sonde/result.h"

namespace sonde {

// 0 stands for no signal; the same number twice toggles. Fails for a signal that the program
// handles itself, which stays as it is.
Result<void> install_start_stop_signals(int start, int stop);

// The calling thread is the one to wake; it must wait with wake_mask() and block all signals
// otherwise.
void wake_this_thread_by_signals();
sigset_t wake_mask();

enum class SignalRequest { None, Start, Stop, Toggle };
// What was asked for since the last call, starts before stops; None when nothing is left.
SignalRequest next_signal_request();

}  // namespace sonde
