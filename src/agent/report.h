// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The run log: a file in which the processes of one `sonde run` note what they did, one line at a
// time. It also keeps them from writing to the same trace.
//
//   SONDE_TRY(const std::string free_pattern, claim_output(report, pattern));   // in the agent
//   SONDE_TRY(const auto entries, read_report(report));                     // in `sonde run`

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde {

enum class ReportKind : std::uint8_t {
  Recording,       // text: the file that the process writes
  Adapter,         // text: why libtorch is not recorded
  Error,           // text: why nothing is recorded
  ExecutionTrace,  // text: the file that the process writes
  Claim,           // text: the file that the process is about to write
  Dump,            // text: a file with what its ring held; empty: one more would be too many
  Steps,           // it has steps
  Demand,          // text: the file that it wrote because a daemon asked for it
};

struct ReportEntry {
  ReportKind kind = ReportKind::Error;
  std::int64_t pid = 0;
  std::string text;
  std::string file_id = {};  // distinguishes recordings of one name
};

// Does nothing if `report` cannot be written; then nobody reads it either.
void add_to_report(const std::string& report, ReportKind kind, const std::string& text,
                   const std::string& file_id = "");
Result<std::vector<ReportEntry>> read_report(const std::string& report);

// Returns `pattern` (filled in by collect/output_name.h) if no process has claimed its file.
// Otherwise adds {pid} before the suffix, and a number if necessary.
Result<std::string> claim_output(const std::string& report, const std::string& pattern);

// The name of a recording's dump: "run.002.sonde".
std::string dump_path(const std::string& recording, std::int64_t number);

// "run.sonde" and "2" give "run.2.sonde".
std::string before_suffix(const std::string& path, const std::string& inserted);

}  // namespace sonde
