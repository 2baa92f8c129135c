// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds processes, tracks and devices from the ids of events and the rows that name them. Kineto
// uses the same two ids for a thread of a process and for a stream of a device; categories and
// labels tell them apart.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/json/json_number.h"
#include "convert/kineto/read/staged.h"
#include "sonde/trace/builder.h"

namespace sonde {

class TrackReader {
 public:
  TrackReader(TraceBuilder& builder, const std::vector<Staged>& stretches);

  // Adds a row for each device that the file describes. Call it first.
  void add_devices(std::string_view device_properties);
  // Fills the three tables. Leaves out rows and tracks that are parts of windows.
  void read(const std::vector<std::vector<bool>>& hidden_metas,
            const std::vector<std::vector<bool>>& hidden_tracks);

  // For each stretch, the track of each local number.
  const std::vector<std::vector<TrackId>>& tracks() const { return tracks_; }
  // The process that recorded: the first one whose pid is a number.
  ProcessId host() const { return host_; }
  // The thread of the same process with this id; invalid if there is none.
  TrackId thread_beside(TrackId track, std::string_view tid) const;

 private:
  // What is known about a pid.
  struct Pid {
    bool has_cpu_label = false;
    bool has_device_label = false;
    bool has_host_events = false;
    bool has_device_events = false;
    bool is_device() const;
  };
  using LineKey = std::pair<std::string, std::string>;  // "host PID" or "device PID", and tid

  void collect_pids();
  bool is_device(const StagedTrack& track) const;
  void add_process(std::string_view pid);
  void add_processes();
  void add_tracks();
  std::string_view lane_of(std::string_view pid, std::string_view tid) const;
  TrackId add_track(const StagedTrack& staged);
  void apply(const StagedTrack& staged, TrackId track, const StagedMeta& meta);
  void name_process(std::string_view pid, const StagedMeta& meta);
  void name_device(std::string_view pid, const StagedMeta& meta);
  bool set_property(std::string_view raw, StringId& out);
  template <typename Count>
  bool set_property(std::string_view raw, Count& out) {
    return to_count(raw, out);
  }
  DeviceId device(std::int32_t index);
  void keep(TableKind table, std::uint32_t row, std::string_view key, std::string_view raw);

  // Sets a text or a number that is not set yet. A later one that differs is kept among the extras.
  void set_text(Column<StringId>& column, std::uint32_t row, TableKind table, std::string_view key,
                std::string_view raw);
  void set_number(Column<std::int64_t>& column, std::uint32_t row, TableKind table,
                  std::string_view key, std::string_view raw);

  TraceBuilder& builder_;
  const std::vector<Staged>& stretches_;
  const std::vector<std::vector<bool>>* hidden_metas_ = nullptr;
  const std::vector<std::vector<bool>>* hidden_tracks_ = nullptr;
  std::map<std::string_view, Pid> pids_;
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> lanes_;
  std::map<std::string_view, ProcessId> processes_;
  std::map<LineKey, TrackId> lines_;
  std::map<std::int32_t, DeviceId> devices_;
  std::map<std::pair<std::string_view, MetaKind>, int> process_metas_;
  std::vector<std::vector<TrackId>> tracks_;
  ProcessId host_;
};

}  // namespace sonde
