// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How long a program would have taken if something in it were different.
//
//   const WhatIfAnswer answer = what_if(trace, {.scale = {{"aten::conv*", 0.5}}});
//   std::cout << answer.recorded_ns << " " << answer.simulated_ns << "\n";
//
// A simulation replays the trace with its dependencies: threads and streams run in order, device
// work waits for its launch, and the host waits where it waited. Without changes it gives the
// recorded time. It assumes that everything else takes as long as before; docs/metrics.md says what
// is inferred.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

struct WhatIf {
  // A pattern with * and ? for names. A match of an operator or another host span covers its time
  // and the device work that it launched. A match of a kernel, a copy or a runtime call covers only
  // itself.
  struct Scale {
    std::string pattern;
    double factor = 1;
  };
  std::vector<Scale> scale = {};
  std::vector<std::string> remove = {};  // the same with factor 0; what is removed does not wait
  bool no_sync = false;                  // no call waits for a device
};

struct WhatIfAnswer {
  struct Match {
    std::string pattern;
    std::uint64_t spans = 0;  // not counting those inside another match
    Nanos time_ns = 0;
  };

  Nanos recorded_ns = 0;  // until the main thread and all devices have finished
  Nanos simulated_ns = 0;
  Nanos recorded_step_ns = 0;  // the median step; 0 if there are no steps
  Nanos simulated_step_ns = 0;
  std::vector<Match> matches;  // one per pattern: those of scale, then those of remove
  std::uint64_t waits = 0;     // calls that waited for a device
};

WhatIfAnswer what_if(const Trace& trace, const WhatIf& changes);

}  // namespace sonde
