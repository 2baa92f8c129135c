// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The options of `sonde run`, and the environment variables that carry them.
//
//   for (const auto& [name, value] : to_environment(options)) setenv(…);      // in `sonde run`
//   SONDE_TRY(const RunOptions options, run_options_from(process_environment));  // in the agent

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/dump_watch.h"
#include "collect/session.h"
#include "sonde/result.h"

namespace sonde {

struct RunOptions {
  std::string output = "{program}-{pid}.sonde";
  std::string execution_trace;  // its file, with the same placeholders; empty: none
  std::uint64_t budget_bytes = std::uint64_t{256} << 20;
  BufferPolicy policy = BufferPolicy::Spill;
  RecordOptions record = {};    // activities: everything the process offers
  bool paused = false;          // do not record until `sonde ctl` or a signal asks for it
  std::int64_t started_ns = 0;  // CLOCK_MONOTONIC at the program's start
  std::int64_t after_ns = 0;    // begin this long after started_ns
  std::int64_t for_ns = 0;      // then end after this long; 0: do not end
  std::int64_t from_step = 0;   // begin when so many steps have ended
  std::int64_t steps = 0;       // then end after so many; 0: do not end
  bool captures = false;        // record between cudaProfilerStart and cudaProfilerStop only
  int signal_start = 0;         // 0: none; the same as signal_stop: toggles
  int signal_stop = 0;
  bool on_demand = false;  // ask dynolog what to record
  DumpRules dump = {};     // when to write the ring to a file
  bool follow_children = true;
  bool keep_command_line = false;     // including its secrets
  std::string report;                 // the file of report.h
  std::vector<std::string> adapters;  // paths, in order of preference
  std::string cuda_library;           // records GPUs; empty: not requested
};

using EnvironmentLookup = std::function<const char*(const char* name)>;

std::vector<std::pair<std::string, std::string>> to_environment(const RunOptions& options);
// A variable that is not set leaves the default.
Result<RunOptions> run_options_from(const EnvironmentLookup& lookup);

Result<BufferPolicy> policy_named(const std::string& name);

}  // namespace sonde
