// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The figures of many versions over time, and where they changed.
//
//   SONDE_TRY(std::vector<HistoryValue> history, parse_history(text));
//   for (const ChangePoint& change : change_points(history)) std::cout << change.commit << "\n";
//
// A history is JSON lines, one for each figure of a run:
//
//   {"commit": "3f2a1c4", "run": "1.sonde", "started_ns": 1760000000000000000, "metric": "step_ns", "value": 1234567}
//
// Versions come in the order in which they first appear. docs/metrics.md defines a change.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/run_summary.h"
#include "sonde/result.h"

namespace sonde {

struct HistoryValue {
  std::string commit;
  std::string run;
  std::int64_t started_ns = 0;
  std::string metric;  // "step_ns" and "device_ns" are times; all others are exact
  double value = 0;
};

// A figure changed with this version, and stayed changed.
struct ChangePoint {
  std::string metric;
  std::string commit;     // the first with the new value
  std::size_t place = 0;  // of the commit in the history, from 0
  double before = 0;      // median of the versions before, back to the change before
  double after = 0;
  bool is_exact = false;  // else these are known:
  double change = 0;      // relative
  double low = 0;         // 95 % interval
  double high = 0;
};

// The figures of runs of one version.
std::vector<HistoryValue> history_values(const std::vector<RunSummary>& runs,
                                         const std::string& commit);
std::string history_text(const std::vector<HistoryValue>& values);
// The error names the line. Keys that are not known are skipped.
Result<std::vector<HistoryValue>> parse_history(std::string_view text);

// The versions, in order.
std::vector<std::string> history_commits(const std::vector<HistoryValue>& values);
// By metric, then by version. Times need three versions before a change and three after it.
std::vector<ChangePoint> change_points(const std::vector<HistoryValue>& values);

}  // namespace sonde
