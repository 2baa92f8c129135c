// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a recording says of its program as a whole: how it ended, and whether it got the processor.
//
//   const ProgramEnd end = program_end(trace);
//   for (const std::string& line : sentences(trace, end)) std::cout << line << "\n";

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

struct ProgramEnd {
  int signal = 0;             // that killed it; 0: none is known
  int status = 0;             // its exit status
  bool is_cut_short = false;  // the recording has no end: its process was killed, or still runs
  std::string dumped_because = {};  // `sonde run --dump-on` wrote it; empty: it did not

  // What a thread did last.
  struct Last {
    SpanId span;
    bool is_open = false;  // it had not ended
    Nanos before_ns = 0;   // so long before the recording's end it ended
  };
  std::vector<Last> last;  // of some threads, the latest first

  bool is_bad() const noexcept { return signal != 0 || status != 0 || is_cut_short; }
  // A program that ends with a status by itself is not somewhere when it does.
  bool was_interrupted() const noexcept { return signal != 0 || is_cut_short; }
};
// Has what threads did last if the program was interrupted. That decodes all events.
ProgramEnd program_end(const Trace& trace);
// Also if it ended by itself with a status that is not 0.
ProgramEnd program_end_with_last(const Trace& trace);
// Only what the metadata say: the values of "program_ended" and "dump".
ProgramEnd program_end_of(std::string_view ended_json, std::string_view dump_json = {});
// For a reader; empty if nothing is known to have gone wrong.
std::vector<std::string> sentences(const Trace& trace, const ProgramEnd& end);

// Of all threads of the program, while it was recorded, from the system's scheduler.
struct ProcessorTime {
  std::int64_t cores = 0;  // on which the program may run
  Nanos wall_ns = 0;
  Nanos ran_ns = 0;
  Nanos waited_ns = 0;  // ready to run, but without a core
  std::int64_t threads = 0;
  struct OfThread {
    std::int64_t id = 0;  // the kernel's number
    Nanos ran_ns = 0;
    Nanos waited_ns = 0;
  };
  std::vector<OfThread> by_thread;  // those that ran most; empty: not known

  bool is_known() const noexcept { return cores > 0 && wall_ns > 0; }
  // How many threads wanted to run, on average.
  double wanted() const noexcept {
    return wall_ns > 0 ? (static_cast<double>(ran_ns) + static_cast<double>(waited_ns)) /
                             static_cast<double>(wall_ns)
                       : 0;
  }
  // The part of the time that threads wanted to run in which they had no core.
  double waited_share() const noexcept {
    const double wanted_ns = static_cast<double>(ran_ns) + static_cast<double>(waited_ns);
    return wanted_ns > 0 ? static_cast<double>(waited_ns) / wanted_ns : 0;
  }
  // The part of the time in which a thread slept: for data, for a lock, for a request. Negative:
  // not known.
  double slept_share(std::int64_t thread) const noexcept {
    for (const OfThread& one : by_thread)
      if (one.id == thread && wall_ns > 0)
        return std::max(0.0,
                        1 - (static_cast<double>(one.ran_ns) + static_cast<double>(one.waited_ns)) /
                                static_cast<double>(wall_ns));
    return -1;
  }
};
ProcessorTime processor_time(const Trace& trace);

}  // namespace sonde
