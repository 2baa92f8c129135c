// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What one stretch of a file's events holds before its neighbours are known. Texts are numbers of
// raw texts, times count from the file's base, and tracks are pairs of ids as written.
// event_stager.h fills it, and assemble.h makes a trace from all stretches.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/big_vector.h"
#include "convert/json/json_memo.h"
#include "convert/kineto/read/keys.h"
#include "sonde/trace/tables_gen.h"

namespace sonde {

using RawId = std::uint32_t;  // a number from a RawMemo of the stretch
inline constexpr RawId kNoRaw = RawMemo::kNone;

// The pid and tid of events, as written in the file.
struct StagedTrack {
  std::string_view pid;
  std::string_view tid;
  bool on_device = false;   // the category says so
  bool has_events = false;  // other than flows, which have no place of their own
  std::uint32_t users = 0;
  bool is_line = false;  // something is drawn or named on it
};

// Fields that only some spans have. Their values are stored in this order.
enum class SpanField : std::uint8_t {
  Category,  // a RawId; only if the kind does not imply it
  ExternalId,
  EventIndex,
  RecordFunctionId,
  Correlation,
  SequenceNumber,
  ForwardThread,
  Stack,         // a RawId
  Module,        // a RawId
  OverloadName,  // a RawId
  SourceFile,    // a RawId
  SourceLine,
  SourceFunction,  // a RawId
};
constexpr std::uint16_t bit_of(SpanField field) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(field));
}

// Takes most of the memory while a file is read, so it is kept small.
struct StagedSpan {
  std::int64_t start = 0;
  std::int64_t duration = 0;  // kOpen: another event ends it
  RawId name = kNoRaw;
  std::uint32_t track = 0;
  RawId arguments = kNoRaw;       // in argument_lists
  std::uint32_t first_value = 0;  // in span_values: one per field, in their order
  std::uint16_t fields = 0;       // bits of SpanField
  std::uint16_t flags = 0;
  SpanKind kind = SpanKind::Other;

  bool has(SpanField field) const { return (fields & bit_of(field)) != 0; }

  static constexpr std::int64_t kOpen = INT64_MIN;
  static constexpr std::int64_t kHidden = INT64_MIN + 1;  // part of a window, not drawn
};

// The end of a span that consists of two events, or the beginning of an asynchronous one.
struct StagedEdge {
  std::int64_t time = 0;
  std::uint32_t track = 0;
  RawId name = kNoRaw;
  RawId category = kNoRaw;
  RawId id = kNoRaw;            // in values
  std::uint32_t span = 0;       // for a beginning
  std::string_view event;       // the event's text
  std::string_view end_thread;  // as an asynchronous beginning gives it
  char phase = 0;               // B E b e
};

struct StagedFlow {
  std::int64_t id = 0;
  std::int64_t time = 0;
  std::uint32_t track = 0;
  std::uint32_t span = kNoSpan;  // the span written just before
  RawId name = kNoRaw;
  RawId category = kNoRaw;
  RawId foreign_id = kNoRaw;  // an id that is not a number
  char phase = 0;             // s t f

  static constexpr std::uint32_t kNoSpan = 0xffffffff;
};

struct StagedExtra {
  TableKind of_table = TableKind::None;
  bool of_event = false;  // a key of the event itself rather than of its args
  std::uint32_t row = 0;
  RawId key = kNoRaw;
  RawId value = kNoRaw;
};

struct StagedMeta {
  MetaKind kind = MetaKind::ProcessName;
  std::uint32_t track = 0;  // for processes: any track with that pid
  std::string_view value;
};

// Events that may be parts of a window, in file order.
struct StagedWindowPart {
  enum class Kind : std::uint8_t { Trace, SortIndex, IterationStart, WindowEnd };
  Kind kind = Kind::Trace;
  std::uint32_t row = 0;    // in spans, metas or instants
  std::uint64_t event = 0;  // number of the event in its stretch
};

struct Troubles {
  std::uint64_t broken_events = 0;
  std::uint64_t first_broken = 0;  // byte offset
  std::uint64_t mended_events = 0;
  std::uint64_t first_mended = 0;
  std::uint64_t without_time = 0;
  std::uint64_t first_without_time = 0;
  std::uint64_t bad_durations = 0;
  std::uint64_t first_bad_duration = 0;
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
  RawMemo stacks;   // the same for call stacks
  RawMemo modules;  // the same for chains of modules
  RawMemo values;   // JSON
  Memo<RawArguments, HashRawArguments> argument_lists;
  std::vector<StagedTrack> tracks;
  BigVector<StagedSpan> spans;
  BigVector<std::int64_t> span_values;
  std::vector<StagedEdge> edges;
  BigVector<StagedFlow> flows;
  std::vector<StagedExtra> extras;
  std::vector<StagedMeta> metas;
  std::vector<StagedWindowPart> window_parts;
  std::vector<std::string_view> unknown_events;
  // In these rows `span` and `track` count within the stretch, and StringId, StackId are RawIds.
  BigVector<KernelRow> kernels;
  BigVector<CopyRow> copies;
  BigVector<ApiCallRow> api_calls;
  BigVector<SyncRow> syncs;
  BigVector<CollectiveRow> collectives;
  BigVector<PythonCallRow> python_calls;
  BigVector<AllocationRow> allocations;
  BigVector<InstantRow> instants;
  BigVector<CounterRow> counters;
  std::uint32_t flows_before_spans = 0;  // their span may be the last one of the stretch before
  std::uint64_t events = 0;
  Troubles troubles;

  // Visits the tables that have the most rows.
  template <typename Visit>
  void visit_rows(const Visit& visit) {
    visit(spans);
    visit(span_values);
    visit(flows);
    visit(kernels);
    visit(copies);
    visit(api_calls);
    visit(syncs);
    visit(collectives);
    visit(python_calls);
    visit(allocations);
    visit(instants);
    visit(counters);
  }

  // kNoRaw if the span has no such field.
  RawId raw_of(const StagedSpan& span, SpanField field) const {
    if (!span.has(field)) return kNoRaw;
    const auto before = static_cast<std::uint16_t>(span.fields & (bit_of(field) - 1));
    const auto at = span.first_value + static_cast<std::size_t>(std::popcount(before));
    return static_cast<RawId>(span_values[at]);
  }
};

}  // namespace sonde
