// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The ledger rows for losses of the recorder. The writer adds them to a file that ends properly;
// after a kill the reader adds them, in the same words.

#include <cstdint>

#include "sonde/trace/tables_gen.h"
#include "wire/live_file.h"

namespace sonde {

// Calls note(LedgerKind, count, detail) for each, even if the count is 0.
template <typename Note>
void for_each_loss(const LiveLosses& lost, std::uint64_t dropped, Note&& note) {
  note(LedgerKind::DroppedByBudget, lost.spans * 2,
       "spans, counted as two events each: the buffers were full");
  note(LedgerKind::DroppedByBudget, lost.ends, "ends; their spans look unfinished");
  note(LedgerKind::DroppedByBudget, lost.others, "instants, counters, flows and texts");
  note(LedgerKind::DroppedByBudget, dropped, "events after the budget was used up");
  note(LedgerKind::DroppedInSignal, lost.in_signal,
       "recorded by a signal handler that interrupted the recorder");
  note(LedgerKind::Overwritten, lost.overwritten, "");
}

}  // namespace sonde
