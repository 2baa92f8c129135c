// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What `sonde info` says, before it is said: one pass over a trace.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde::cli {

// How a row of the ledger is to be read.
enum class LedgerClass {
  Lost,        // the trace lacks something that happened
  Incomplete,  // something is there, but not whole
  Cost,        // what recording took
  Remark,
};
LedgerClass ledger_class(LedgerKind kind);
// "events dropped because the buffers were full", before a count.
std::string_view ledger_phrase(LedgerKind kind);

// All ledger rows of one kind. Of clock error and event cost the largest counts, of others the sum.
struct LedgerTotal {
  std::uint64_t count = 0;
  std::vector<std::string_view> details;  // those that are not empty, each once, in their order
};

struct StepFacts {
  std::uint64_t count = 0;
  std::int64_t first = -1;
  std::int64_t last = -1;
  Nanos total_ns = 0;
};

struct TraceFacts {
  std::map<SpanKind, std::uint64_t> spans_by_kind;
  StepFacts steps;
  std::map<LedgerKind, LedgerTotal> ledger;

  bool has(LedgerClass wanted) const;
};

// Its views live as long as `trace`.
TraceFacts gather_facts(const Trace& trace);

// "2026-03-01 12:00:00.250 UTC"
std::string utc_text(Nanos since_epoch);

}  // namespace sonde::cli
