// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Perfetto's tables as views of Sonde's, so that queries written for its trace processor run here.

namespace sonde::sql {

struct View {
  const char* name;
  const char* doc;
  const char* select;
};

// A table that takes an argument: the rows of a query in which it is ?1.
struct TableFunction {
  const char* name;
  const char* usage;
  const char* doc;
  const char* argument;
  const char* columns;
  const char* select;
};

inline constexpr char kSliceColumns[] =
    "id INTEGER, slice_id INTEGER, type TEXT, ts INTEGER, dur INTEGER, track_id INTEGER, "
    "category TEXT, name TEXT, depth INTEGER, parent_id INTEGER, arg_set_id INTEGER, kind TEXT, "
    "file TEXT, rank INTEGER";

inline constexpr TableFunction kPerfettoTableFunctions[] = {
    {"ancestor_slice", "ancestor_slice(id)", "A table: the slices around one, as in Perfetto",
     "start_id", kSliceColumns,
     "WITH RECURSIVE up(at) AS (SELECT parent FROM spans WHERE id = ?1 UNION "
     "SELECT parent FROM up JOIN spans ON id = at) "
     "SELECT s.* FROM up JOIN slice s ON s.id = at"},
    {"descendant_slice", "descendant_slice(id)", "A table: the slices inside one, as in Perfetto",
     "start_id", kSliceColumns,
     "WITH RECURSIVE down(at) AS (SELECT id FROM spans WHERE parent = ?1 UNION "
     "SELECT id FROM down JOIN spans ON parent = at) "
     "SELECT s.* FROM down JOIN slice s ON s.id = at"},
};

inline constexpr View kPerfettoViews[] = {
    {"slice", "Perfetto's slices: spans by its names.",
     "SELECT id, id AS slice_id, 'slice' AS type, start_ns AS ts, duration_ns AS dur, track AS "
     "track_id, "
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
     "SELECT t.id, t.id AS utid, t.number AS tid, t.name, t.process AS upid, "
     "t.number = p.pid AS is_main_thread, t.file, t.rank "
     "FROM tracks t LEFT JOIN processes p ON t.process = p.id WHERE t.kind = 'thread'"},
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
    {"args", "Perfetto's arguments, of spans: all that PyTorch's JSON says of one.",
     "SELECT s.id AS arg_set_id, 'args.' || a.key AS flat_key, 'args.' || a.key AS key, "
     "CASE a.type WHEN 'integer' THEN 'int' WHEN 'real' THEN 'real' ELSE 'string' END AS "
     "value_type, "
     "CASE WHEN a.type = 'integer' THEN a.value END AS int_value, "
     "CASE WHEN a.type = 'real' THEN a.value END AS real_value, "
     "CASE WHEN a.type NOT IN ('integer', 'real') THEN a.value END AS string_value, "
     "CAST(a.value AS TEXT) AS display_value, s.file, s.rank "
     "FROM spans s, json_each(arguments_json(s.id)) a"},
    {"slices", "The same as slice.", "SELECT * FROM slice"},
    {"trace_bounds", "From the first time to the last.",
     "SELECT trace_start() AS start_ts, trace_end() AS end_ts"},
};

}  // namespace sonde::sql
