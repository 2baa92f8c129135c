// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The closing lines of `sonde run`: what was recorded, where, what was lost, what to type next; or
// why there is nothing.

#include <string>
#include <vector>

#include "agent/report.h"
#include "agent/run_options.h"
#include "cli/run_target.h"

namespace sonde::cli {

// Tidies up as well: a recording that was cut short becomes one whole file, an empty one is
// removed, unless its process still runs.
std::vector<std::string> closing_lines(const std::vector<ReportEntry>& report, const Target& target,
                                       const std::string& program, const RunOptions& options);

}  // namespace sonde::cli
