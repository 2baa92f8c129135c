// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a daemon asks a process to record, as PyTorch's profiler understands it: lines of the form
// KEY=VALUE. Keys that say nothing to Sonde are skipped.
//
//   SONDE_TRY(const Demand demand, demand_from("ACTIVITIES_LOG_FILE=/tmp/a.json\n"));
//   demand_file(demand, 4711);   // "/tmp/a_4711.json"

#include <cstdint>
#include <string>
#include <string_view>

#include "sonde/profile/record_options.h"
#include "sonde/result.h"

namespace sonde {

struct Demand {
  std::string file;           // as it was written; empty: PyTorch's default
  std::int64_t start_ms = 0;  // since 1970; 0: now
  std::int64_t duration_ns = 500'000'000;
  std::int64_t steps = 0;        // more than 0: so many steps, and no duration
  std::int64_t first_step = 0;   // not before so many have ended
  std::int64_t multiple_of = 1;  // of steps that have ended, so that ranks begin together
  RecordOptions record = {};     // its flags; the activities are the process's
};

Result<Demand> demand_from(std::string_view configuration);
std::string demand_file(const Demand& demand, std::int64_t pid);

}  // namespace sonde
