// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What one stretch of a file's events holds, before it is known what its neighbours say: rows whose
// texts are numbers of raw texts, whose times count from the file's base, and whose tracks are
// pairs of ids as written. kineto_read_events.h fills it, kineto_read_assemble.h makes a trace of
// all.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "convert/json_memo.h"
#include "convert/kineto_read_keys.h"
#include "sonde/trace_tables_gen.h"

namespace sonde {

using RawId = std::uint32_t;  // a number that some RawMemo of the stretch gave
inline constexpr RawId kNoRaw = RawMemo::kNone;

// The pid and tid of events, as they stand in the file.
struct StagedTrack {
  std::string_view pid;
  std::string_view tid;
  bool on_device = false;   // the category says so
  bool has_events = false;  // that have a place there of their own; flows have not
  std::uint32_t users = 0;
  bool is_line = false;  // something is drawn or named there: not just a process's row
};

struct StagedSpan {
  std::int64_t start = 0;
  std::int64_t duration = 0;  // kOpen: its end is another event
  std::int64_t correlation = 0;
  std::int64_t external_id = 0;
  std::int64_t sequence_number = -1;
  std::int64_t forward_thread = 0;
  std::int64_t record_function_id = -1;
  std::int64_t event_index = -1;
  RawId name = kNoRaw;
  RawId category = kNoRaw;  // only if the kind does not say it
  std::uint32_t track = 0;
  RawId arguments = kNoRaw;  // of argument_lists
  RawId stack = kNoRaw;
  RawId module = kNoRaw;
  std::uint16_t flags = 0;
  SpanKind kind = SpanKind::Other;
  bool has_ids = false;  // external id, event index or record function id

  static constexpr std::int64_t kOpen = INT64_MIN;
  static constexpr std::int64_t kHidden = INT64_MIN + 1;  // part of a window, not drawn
};

// The end of a span that two events made, or the beginning of an asynchronous one.
struct StagedEdge {
  std::int64_t time = 0;
  std::uint32_t track = 0;
  RawId name = kNoRaw;
  RawId category = kNoRaw;
  RawId id = kNoRaw;       // of values
  std::uint32_t span = 0;  // of a beginning
  std::string_view args;   // of an end; of an asynchronous beginning: the thread where it ends
  char phase = 0;          // B E b e
};

struct StagedFlow {
  std::int64_t id = 0;
  std::int64_t time = 0;
  std::uint32_t track = 0;
  std::uint32_t span = kNoSpan;  // the span written just before
  RawId name = kNoRaw;
  RawId category = kNoRaw;
  RawId foreign_id = kNoRaw;  // an id that is no number
  char phase = 0;             // s t f

  static constexpr std::uint32_t kNoSpan = 0xffffffff;
};

struct StagedExtra {
  TableKind of_table = TableKind::None;
  bool of_event = false;  // a key of the event itself, not of its args
  std::uint32_t row = 0;
  RawId key = kNoRaw;
  RawId value = kNoRaw;
};

// A row that names or orders a process or a thread.
enum class MetaKind : std::uint8_t {
  ProcessName,
  ProcessLabels,
  ProcessSortIndex,
  ThreadName,
  ThreadSortIndex,
  ThreadLaneOf,
};
struct StagedMeta {
  MetaKind kind = MetaKind::ProcessName;
  std::uint32_t track = 0;  // for processes: any track with that pid
  std::string_view value;
};

// Events that may be parts of a window, in their order.
struct StagedWindowPart {
  enum class Kind : std::uint8_t { Trace, SortIndex, IterationStart, WindowEnd };
  Kind kind = Kind::Trace;
  std::uint32_t row = 0;    // of spans, metas or instants
  std::uint64_t event = 0;  // number of the event in its stretch
};

struct Troubles {
  std::uint64_t broken_events = 0;
  std::uint64_t first_broken = 0;  // byte offset
  std::uint64_t mended_events = 0;
  std::uint64_t first_mended = 0;
  std::uint64_t without_time = 0;
  std::uint64_t negative_durations = 0;
  std::uint64_t first_bad_value = 0;
};

// Argument lists are told apart by the raw texts of their arrays.
using RawArguments = std::array<std::string_view, 4>;  // dims, strides, types, concrete values
struct HashRawArguments {
  std::uint64_t operator()(const RawArguments& raw) const {
    std::uint64_t hash = 0;
    for (const std::string_view text : raw) {
      hash = detail::mix(hash ^ (text.empty() ? 0 : hash_padded(text)), detail::kHashA);
    }
    return hash;
  }
};

struct Staged {
  RawMemo texts;    // contents of strings
  RawMemo stacks;   // the same, of call stacks
  RawMemo modules;  // the same, of chains of modules
  RawMemo values;   // JSON
  Memo<RawArguments, HashRawArguments> argument_lists;
  std::vector<StagedTrack> tracks;
  std::vector<StagedSpan> spans;
  std::vector<StagedEdge> edges;
  std::vector<StagedFlow> flows;
  std::vector<StagedExtra> extras;
  std::vector<StagedMeta> metas;
  std::vector<StagedWindowPart> window_parts;
  std::vector<std::string_view> unknown_events;
  // In these rows `span` and `track` count within the stretch, and StringId, StackId are RawIds.
  std::vector<KernelRow> kernels;
  std::vector<CopyRow> copies;
  std::vector<ApiCallRow> api_calls;
  std::vector<SyncRow> syncs;
  std::vector<CollectiveRow> collectives;
  std::vector<PythonCallRow> python_calls;
  std::vector<AllocationRow> allocations;
  std::vector<InstantRow> instants;
  std::vector<CounterRow> counters;
  std::uint64_t events = 0;
  Troubles troubles;
};

}  // namespace sonde
