// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "sonde/analyse/compare.h"

namespace sonde::detail {

// A gate may fail a build, so it must be surer than a finding: one-sided, 1 %.
inline constexpr double kGateLevel = 0.01;
inline constexpr std::size_t kFewestRuns = 3;
// Smaller changes are not findings.
inline constexpr double kHostFloor = 0.05;
inline constexpr double kDeviceFloor = 0.01;
// Of the device's time, for a gate with fewer runs than kFewestRuns.
inline constexpr double kDeviceFloorOfOneRun = 0.02;

// Judges the gates from the rest of the comparison, and the comparison from them.
void judge_gates(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now,
                 const std::vector<Gate>& gates, Comparison& result);

}  // namespace sonde::detail
