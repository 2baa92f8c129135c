// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What another profiler cost the program while it recorded: an estimate from the number of its
// events.

#include <string>
#include <vector>

#include "analyse/time/steady.h"
#include "sonde/trace.h"

namespace sonde::detail {

struct ProfilerCost {
  Nanos time_ns = 0;  // of all threads, in the steady part; 0: not known, or Sonde's own
  std::vector<std::string> options;  // that cost much, as the file names them
};

ProfilerCost profiler_cost(const Trace& trace, const SteadyPart& steady);
// What recording cost in the steady part, if Sonde recorded; else 0.
Nanos own_cost_ns(const Trace& trace, const SteadyPart& steady);

}  // namespace sonde::detail
