// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The closing lines of `sonde run`: what was recorded and where, what was lost, and the next
// command; or why nothing was recorded.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/report.h"
#include "agent/run_options.h"
#include "cli/run/target.h"

namespace sonde::cli {

// Also tidies up: a recording that was cut short is completed, and an empty one is removed, unless
// its process is still running. `run_pid` is the process of `sonde run`, which may be a parent of
// this one. `why_none` says why there is no file although something was recorded; empty if nothing
// was.
std::vector<std::string> closing_lines(const std::vector<ReportEntry>& report, const Target& target,
                                       const std::string& program, const RunOptions& options,
                                       std::int64_t run_pid, const std::string& why_none);

// Writes into the recordings of a process how it ended: by which signal, or with which status.
void note_ending(const std::vector<ReportEntry>& report, std::int64_t pid, bool was_killed,
                 int number);

}  // namespace sonde::cli
