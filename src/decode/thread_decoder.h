// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The words of one thread, in order, to rows: begins and ends are paired, parents are known by
// nesting, times are on the trace's clock. Knows nothing of files or of other threads.

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "sonde/trace/builder.h"
#include "wire/codec.h"

namespace sonde {

// A stretch of a thread's words. Several may cover the same words: buffers are written to files
// while they fill, and a live file may hold what is in the `.sonde` file already.
struct Piece {
  EventsHead head;
  std::vector<std::uint64_t> words;

  std::uint64_t position() const { return detail::make_position(head.sequence, head.first_offset); }
};

struct TickWindow {
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;  // ~0 while open
  std::uint32_t row = 0;        // in the windows table
  std::int64_t first_step = 0;
};

// What an id in the words stands for.
struct NameInfo {
  StringId name;
  StringId function;
  StringId file;
  std::int32_t line = -1;
  std::int64_t step = -1;  // of a name ProfilerStep#N
  StringId overload;       // of an operator
};

// All names of a recording, numbered from 0, by their id in the words. Number 0 is the unknown
// name.
class NameTable {
 public:
  NameTable() : infos_(1) {}
  void set(std::uint64_t id, const NameInfo& info);
  // For names that were written in place.
  std::uint32_t add(const NameInfo& info);
  std::uint32_t find(std::uint64_t id) const {
    if (id < small_.size()) return small_[id];
    const auto found = large_.find(id);
    return found != large_.end() ? found->second : 0;
  }
  const NameInfo& operator[](std::uint32_t number) const { return infos_[number]; }

 private:
  std::vector<NameInfo> infos_;
  std::vector<std::uint32_t> small_;
  std::unordered_map<std::uint64_t, std::uint32_t> large_;
};

// Ends that came from another thread, by the position of the begin.
struct ForeignEnd {
  std::uint64_t ticks = 0;
  std::uint64_t thread = 0;  // that ended it
};
using ForeignEnds = std::unordered_map<std::uint64_t, ForeignEnd>;

// What several threads share, all of it read only while they are decoded.
struct DecodeContext {
  const NameTable* names = nullptr;
  const TickMap* clock = nullptr;
  std::vector<TickWindow> windows;  // ascending, apart from one another
  std::uint64_t last_ticks = 0;     // of the recording: where what never ended is cut
};

struct DecodedThread {
  struct Text {
    std::uint32_t span;
    std::string text;
  };
  struct Moment {
    std::int64_t time_ns;
    std::uint32_t name;
    double value;        // counters
    std::uint32_t span;  // innermost open one, SpanId::kInvalid if none
  };
  struct FlowEnd {
    std::uint64_t id;
    std::int64_t time_ns;
    std::uint32_t span;
    bool out;
  };
  struct AsyncEdge {
    std::uint64_t id;
    std::uint64_t ticks;
    std::uint32_t name;
    bool begin;
    std::uint32_t window;  // of a begin, index into DecodeContext::windows
  };
  struct Op {
    std::uint32_t span;
    RecordScope scope;
    std::int64_t sequence_number;
    std::int64_t forward_thread;
    std::int64_t record_function_id;
  };
  struct Inputs {
    std::uint32_t span;
    std::uint32_t text;  // in input_texts
  };
  struct TensorUse {
    std::uint32_t span;
    std::int32_t index;
    std::int32_t element;
    std::uint64_t tensor;
    std::uint64_t storage;
  };
  struct Place {
    std::uint32_t span;
    std::uint32_t stack;  // ids of the dictionary
    std::uint32_t module;
  };
  struct ApiCall {
    std::uint32_t span;
    std::uint32_t callback_id;
    std::uint64_t correlation;
  };
  struct GraphNode {
    std::uint64_t id;
    std::uint64_t copied_from;
    std::uint32_t span;  // that made it, SpanId::kInvalid if none
  };
  struct NamedSpan {  // a name that was written in place
    std::uint32_t span;
    std::string name;
  };

  // Columns of the spans, rows in order of begin. Parents and rows count from 0.
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> duration_ns;
  std::vector<std::uint32_t> name;
  std::vector<std::uint32_t> parent;
  std::vector<SpanKind> kind;
  std::vector<std::uint16_t> flags;
  std::vector<std::uint32_t>
      window;  // index into DecodeContext::windows; empty if there is but one
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ended_elsewhere;  // span, thread
  std::vector<NamedSpan> named;
  std::vector<Text> texts;
  std::vector<Moment> instants;
  std::vector<Moment> counters;
  std::vector<FlowEnd> flows;
  std::vector<AsyncEdge> asyncs;
  std::vector<Op> ops;
  std::vector<Inputs> inputs;
  std::vector<std::string> input_texts;  // each once
  std::vector<TensorUse> tensors;
  std::vector<Place> places;
  std::vector<ApiCall> api_calls;
  std::vector<GraphNode> graph_nodes;
  std::vector<std::uint64_t>
      device_words;  // for device_rows.h: each record's head, then its payload
  std::vector<AllocationRow> allocations;  // their spans count from 0 as well
  std::int64_t logical_thread = 0;

  std::uint64_t records = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t out_of_window = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t undecodable = 0;
  std::uint64_t lost = 0;  // according to the chunks themselves
};

// Consumes the pieces, which are sorted by position here.
DecodedThread decode_thread(std::vector<Piece> pieces, const ForeignEnds& foreign_ends,
                            const DecodeContext& context);

}  // namespace sonde
