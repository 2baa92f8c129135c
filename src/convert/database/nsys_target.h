// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads where and when a report of Nsight Systems was recorded: processes, threads, devices, clock,
// and what went wrong.
//
//   NsysTarget target(tables);
//   SONDE_TRY_VOID(target.read());  // before anything that has a time
//   …
//   target.name_lines();            // after everything that has a track

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "convert/database/tables.h"
#include "sonde/result.h"

namespace sonde {

class NsysTarget {
 public:
  explicit NsysTarget(SqliteTables& tables) : tables_(tables), builder_(tables.builder()) {}

  // Sets the clock's base, and fills windows, devices, metadata and the profiler's own warnings.
  Result<void> read();
  // Names processes and threads. The report lists every one on the machine; those that did nothing
  // are left out.
  void name_lines();
  // When recording ended, if the report says so.
  Nanos last_ns() const { return last_ns_; }

  // Whether a table only describes other tables or the report itself, so that nothing is lost if it
  // is not read.
  static bool is_description(std::string_view table);

 private:
  Result<void> read_clock();
  Result<void> read_window();
  Result<void> read_processes();
  Result<void> read_threads();
  Result<void> read_devices();
  Result<void> read_host();
  Result<void> read_metadata();
  Result<void> read_diagnostics();
  Result<std::map<std::int64_t, std::int32_t>> cuda_numbers();
  void add_metadata(std::string_view key, std::string_view text);

  SqliteTables& tables_;
  TraceBuilder& builder_;
  Nanos last_ns_ = 0;
  StringId host_;
  std::map<std::int64_t, StringId> process_names_;
  std::map<std::tuple<std::int64_t, std::int64_t>, StringId> thread_names_;
};

}  // namespace sonde
