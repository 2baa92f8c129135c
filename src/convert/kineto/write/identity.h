// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The pid and tid under which the lines of a trace are written. Viewers tell lines apart by these
// two alone, so no two lines get the same pair: a line whose pair is taken gets a free number.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/kineto/write/json_strings.h"
#include "sonde/trace.h"

namespace sonde {

// A device, which Kineto draws as a process of its own.
struct WrittenDevice {
  ProcessId process;  // the host process
  std::int32_t index = -1;
  DeviceId row;  // none: only tracks mention it
  std::int64_t pid = 0;
};

class KinetoIdentity {
 public:
  // `lanes[t]` is the number of lines that track t needs; the last entry is for spans without a
  // track.
  KinetoIdentity(const Trace& trace, const JsonStrings& strings,
                 const std::vector<std::uint32_t>& lanes);

  // JSON: a number, or the value that a foreign file had.
  const std::string& pid(ProcessId process) const { return process_pids_[process.index()]; }
  const std::vector<WrittenDevice>& devices() const { return devices_; }

  struct Line {
    std::string pid;
    std::string tid;
    std::string both;  // "pid": 407, "tid": 433
  };
  // Lane 0 is the track's own line.
  const Line& line(std::size_t track, std::uint32_t lane) const { return lines_[track][lane]; }
  const std::vector<Line>& lines(std::size_t track) const { return lines_[track]; }
  // A tid that no line of that pid uses, for rows about the process as a whole; 0 if it is free.
  std::string free_tid(const std::string& pid) const;

 private:
  void find_devices(const Trace& trace);
  WrittenDevice& device_of(const Trace& trace, ProcessId process, std::int32_t index);
  void number_processes(const Trace& trace, const JsonStrings& strings);
  void number_tracks(const Trace& trace, const JsonStrings& strings,
                     const std::vector<std::uint32_t>& lanes);
  std::string pid_of_track(const Trace& trace, std::size_t track) const;

  std::vector<std::string> process_pids_;
  std::vector<WrittenDevice> devices_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::size_t> device_at_;
  std::vector<std::vector<Line>> lines_;                 // one more than there are tracks
  std::set<std::pair<std::string, std::string>> taken_;  // pid and tid of all lines
};

}  // namespace sonde
