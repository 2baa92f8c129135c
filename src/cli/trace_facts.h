// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The facts that `sonde info` prints, gathered in one pass over a trace.

#include <cstdint>
#include <map>
#include <string>

#include "sonde/analyse/ledger.h"
#include "sonde/trace.h"

namespace sonde::cli {

struct StepFacts {
  std::uint64_t count = 0;
  std::int64_t first = -1;
  std::int64_t last = -1;
  Nanos total_ns = 0;
};

struct TraceFacts {
  std::map<SpanKind, std::uint64_t> spans_by_kind;
  StepFacts steps;
  LedgerTotals ledger;

  bool has(LedgerClass wanted) const { return sonde::has(ledger, wanted); }
};

// Its views are valid as long as `trace` lives.
TraceFacts gather_facts(const Trace& trace);

// "2026-03-01 12:00:00.250 UTC"
std::string utc_text(Nanos since_epoch);

}  // namespace sonde::cli
