// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Perfetto's tables as views of Sonde's, so that queries written for its trace processor run here.

namespace sonde::sql {

struct View {
  const char* name;
  const char* doc;
  const char* select;
};

inline constexpr View kPerfettoViews[] = {
    {"slice", "Perfetto's slices: spans by its names.",
     "SELECT id, 'slice' AS type, start_ns AS ts, duration_ns AS dur, track AS track_id, "
     "coalesce(category, kind) AS category, name, depth, parent AS parent_id, id AS arg_set_id, "
     "kind, file, rank FROM spans"},
    {"track", "Perfetto's tracks.",
     "SELECT id, kind || '_track' AS type, name, process AS upid, file, rank FROM tracks"},
    {"thread_track", "Perfetto's tracks of threads; utid is the id of the track.",
     "SELECT id, 'thread_track' AS type, name, id AS utid, file, rank FROM tracks "
     "WHERE kind = 'thread'"},
    {"gpu_track", "Perfetto's tracks of streams.",
     "SELECT id, 'gpu_track' AS type, name, device_index AS gpu_id, number AS stream, file, rank "
     "FROM tracks WHERE kind = 'stream'"},
    {"thread", "Perfetto's threads.",
     "SELECT id, id AS utid, number AS tid, name, process AS upid, file, rank FROM tracks "
     "WHERE kind = 'thread'"},
    {"process", "Perfetto's processes.",
     "SELECT id, id AS upid, pid, name, command AS cmdline, file, rank FROM processes"},
    {"gpu_slice", "Perfetto's slices of GPUs: kernels, copies and fills.",
     "SELECT id, start_ns AS ts, duration_ns AS dur, track AS track_id, kind AS category, name, "
     "correlation, id AS arg_set_id, file, rank FROM spans "
     "WHERE class IN ('kernel', 'copy', 'work')"},
    {"thread_slice", "Perfetto's slices of threads, with their thread and process.",
     "SELECT s.id, s.ts, s.dur, s.category, s.name, s.track_id, t.utid, t.tid, "
     "t.name AS thread_name, p.upid, p.pid, p.name AS process_name, s.depth, s.parent_id, "
     "s.arg_set_id, s.file, s.rank FROM slice s JOIN thread t ON s.track_id = t.utid "
     "LEFT JOIN process p ON t.upid = p.upid"},
    {"counter", "Perfetto's values of counters.",
     "SELECT id, time_ns AS ts, track AS track_id, value, name, file, rank FROM counters"},
    {"flow", "Perfetto's arrows between slices.",
     "SELECT id, from_span AS slice_out, to_span AS slice_in, number AS trace_id, file, rank "
     "FROM flows"},
    {"args", "Perfetto's arguments, of spans: what a trace has no column for.",
     "SELECT id, of_row AS arg_set_id, 'args.' || key AS flat_key, 'args.' || key AS key, "
     "value AS display_value, value AS string_value, file, rank FROM extras "
     "WHERE of_table = 'spans'"},
    {"trace_bounds", "From the first time to the last.",
     "SELECT min(start_ns) AS start_ts, max(end_ns) AS end_ts FROM spans"},
};

}  // namespace sonde::sql
