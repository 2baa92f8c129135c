// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The dumps of a `sonde run --dump-on`: those that its processes wrote while they ran, and the one
// that is made of a ring when its process has ended badly.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/report.h"
#include "cli/run/dump_on.h"

namespace sonde::cli {

struct DumpsMade {
  std::vector<ReportEntry> report;  // with the dumps as recordings, without the rings
  std::vector<std::string> lines;   // what went wrong, what was left out
  std::string why_none;             // if there is no dump; empty if nothing could be recorded
};

// Removes the rings of processes that have ended. `most` counts the dumps of a process, also those
// at its end. `ring_ns` is what a dump has.
DumpsMade settle_dumps(const std::vector<ReportEntry>& report, const DumpOn& on,
                       std::int64_t ring_ns, std::int64_t most, std::int64_t run_pid);

}  // namespace sonde::cli
