// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The tracks of a Perfetto trace and their names:
//
//   process 407 python3
//   ├─ thread 407            a track of the trace
//   │  └─ overlap            its second lane
//   ├─ async                 spans that overlap freely
//   ├─ loss                  a counter
//   └─ GPU 0
//      └─ stream 7

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/perfetto/fields.h"
#include "sonde/trace.h"

namespace sonde::detail {

// Where a trace stands in a file of several, which must not use the same numbers.
struct PerfettoPlace {
  std::string name;           // of its processes; empty: as they are recorded
  std::int64_t last_pid = 0;  // of the traces before it, if there is a name
  std::uint64_t last_uuid = 0;
  std::uint64_t last_flow = 0;
  std::uint32_t last_sequence = 1;  // 1 describes the tracks
};

// Assigns numbers to tracks, and describes each when it is first used.
class PerfettoTracks {
 public:
  PerfettoTracks(const Trace& trace, std::string& out, PerfettoPlace& place)
      : trace_(trace), out_(out), place_(place) {}

  // Line `lane` of a track. An invalid track has a line of its own.
  std::uint64_t line(TrackId track, std::uint32_t lane);
  // One of the tracks for spans that may overlap.
  std::uint64_t async_line(TrackId track, std::uint32_t lane);
  // A counter of the process that `track` is in. `unit` is a unit of CounterDescriptor, or 0.
  std::uint64_t counter(TrackId track, const std::string& name, std::uint32_t unit);

 private:
  struct Descriptor;
  std::uint64_t add(const Descriptor& descriptor);
  std::uint64_t process(ProcessId process);
  std::uint64_t device(ProcessId process, std::int32_t index);
  std::uint64_t add_line(TrackId track);
  ProcessId process_of(TrackId track) const;
  std::int64_t pid_of(ProcessId process);

  const Trace& trace_;
  std::string& out_;
  PerfettoPlace& place_;
  std::map<std::uint32_t, std::int64_t> pids_;
  std::map<std::uint32_t, std::uint64_t> processes_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t> devices_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> lines_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> async_lines_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> counters_;
};

// `text` as UTF-8, with U+FFFD for invalid bytes.
std::string valid_utf8(std::string_view text);

}  // namespace sonde::detail
