// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The facts that `sonde info` prints.

#include <string>

#include "sonde/analyse/ledger.h"
#include "sonde/trace.h"

namespace sonde::cli {

struct TraceFacts {
  TraceCounts counts;
  LedgerTotals ledger;

  bool has(LedgerClass wanted) const { return sonde::has(ledger, wanted); }
};

// Its views are valid as long as `trace` lives.
TraceFacts gather_facts(const Trace& trace);

// "2026-03-01 12:00:00.250 UTC"
std::string utc_text(Nanos since_epoch);

}  // namespace sonde::cli
