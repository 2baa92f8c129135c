// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a report of Nsight Systems says about where and when it was recorded: processes, threads,
// devices, clock, and what went wrong.
//
//   NsysTarget target(tables);
//   SONDE_TRY_VOID(target.read());  // before anything that has a time
//   …
//   target.name_lines();            // after everything that stands on one

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
  // Gives processes and threads their names. The report names all of the machine's; those that did
  // nothing are left out.
  void name_lines();
  // When recording ended, as far as the report says.
  Nanos last_ns() const { return last_ns_; }

  // Whether a table describes other tables or the report itself, so that nothing is lost without
  // it.
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
