// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a trace says about itself: what it lacks, and what recording cost.
//
//   const LedgerTotals ledger = ledger_totals(trace);
//   if (has(ledger, LedgerClass::Lost)) std::cout << "something is missing\n";

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

// How to read a row of the ledger.
enum class LedgerClass {
  Lost,        // the trace lacks something that happened
  Incomplete,  // something is there, but incomplete
  Cost,        // what recording cost
  Remark,
};
LedgerClass ledger_class(LedgerKind kind);
// "events dropped because the buffers were full", before a count.
std::string_view ledger_phrase(LedgerKind kind);

// All ledger rows of one kind. For clock errors and event costs this is the largest, for others the
// sum.
struct LedgerTotal {
  std::uint64_t count = 0;
  std::vector<std::string_view> details;  // those that are not empty, each once, in order
};

using LedgerTotals = std::map<LedgerKind, LedgerTotal>;

// Its views are valid as long as `trace` lives.
LedgerTotals ledger_totals(const Trace& trace);

// Whether something of that class was counted.
bool has(const LedgerTotals& ledger, LedgerClass wanted);
// 0 if there is no row of that kind.
std::uint64_t count_of(const LedgerTotals& ledger, LedgerKind kind);
// What recording cost the recorded threads, by what was recorded: how often, times what one cost.
// Sources measure that in the process, each on its own paths (docs/decisions/0030-cost-by-path.md).
// Where none did, it is a fixed multiple of a scope, which was measured when the process began to
// record. Device records are not counted.
struct RecordingCost {
  struct Path {
    std::string_view what;  // "operators", "inputs of operators", …
    std::uint64_t count = 0;
    double each_ns = 0;
  };
  std::vector<Path> paths;  // those that occurred
  Nanos total_ns = 0;       // of all threads together; 0: not known
};
RecordingCost recording_cost(const Trace& trace);

}  // namespace sonde
