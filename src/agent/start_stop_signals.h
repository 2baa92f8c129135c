// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The signals that start and stop recording, `sonde run --signal-start` and `--signal-stop`, and
// the one that writes the ring to a file, `--dump-on signal:…`. The handler only counts and wakes
// the agent's thread, which does the rest.

#include <signal.h>

#include <string>

#include "sonde/result.h"

namespace sonde {

// 0 means no signal; the same number twice toggles. Fails for a signal that the program handles
// itself, and does not change it.
Result<void> install_start_stop_signals(int start, int stop, int dump);

// Makes the calling thread the one to wake. It must wait with wake_mask() and block all signals
// otherwise.
void wake_this_thread_by_signals();
sigset_t wake_mask();

enum class SignalRequest { None, Start, Stop, Toggle, Dump };
// What was requested since the last call, starts before stops; None when nothing is left.
SignalRequest next_signal_request();

}  // namespace sonde
