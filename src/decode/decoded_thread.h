// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the words of one thread say, by subject. Rows of spans count from 0 in order of begin. A
// name is its number in the NameTable.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sonde/detail/words.h"
#include "sonde/trace/builder.h"

namespace sonde {

// They are many, so they are packed from the start.
template <typename... Columns>
void pack_all(Columns&... columns) {
  (columns.pack(), ...);
}

// Columns of the spans, in the form of those that they become. A name is a number of the NameTable,
// and a parent is a row of this thread.
struct DecodedSpans {
  DecodedSpans() { pack_all(start_ns, duration_ns, name, parent, kind, flags, window); }

  Column<Nanos> start_ns;
  Column<Nanos> duration_ns;
  Column<StringId> name;
  Column<SpanId> parent;
  Column<SpanKind> kind{SpanKind::Scope};
  Column<std::uint16_t> flags;
  Column<WindowId> window;  // of the windows table; empty if there is only one window
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ended_elsewhere;  // span, thread

  std::size_t size() const { return start_ns.size(); }
  bool empty() const { return start_ns.empty(); }
};

// A span or an instant, as an owner of arguments.
struct NoteOwner {
  std::uint32_t row = SpanId::kInvalid;
  bool is_instant = false;
  bool valid() const { return row != SpanId::kInvalid; }
};

// Texts that are in the words themselves.
struct DecodedNotes {
  struct Text {
    std::uint32_t span;
    std::string text;
  };
  struct Argument {
    NoteOwner owner;
    std::uint32_t key;  // a name
    detail::ArgumentType kind;
    std::uint64_t bits;  // of a number
    std::string text;
  };
  struct Category {
    NoteOwner owner;
    std::uint32_t name;
  };

  std::vector<Text> names;  // of spans whose names have no number
  std::vector<Text> texts;
  std::vector<Argument> arguments;
  std::vector<Category> categories;
  std::uint64_t cut = 0;  // incomplete texts
};

struct DecodedOps {
  DecodedOps() {
    pack_all(scope, sequence_number, forward_thread, record_function_id, external_id, arguments);
    tensors.visit_columns([](const char*, auto& column) { column.pack(); });
  }

  struct Place {
    std::uint32_t span;
    std::uint32_t stack;  // ids of the dictionary
    std::uint32_t module;
  };

  // What each operator is, by span. external_id counts the operators from 1, and `arguments` are
  // numbers of input_texts. ReadFor::OperatorTable needs no ids.
  Column<RecordScope> scope{RecordScope::None};
  Column<std::int64_t> sequence_number{-1};
  Column<std::int64_t> forward_thread;
  Column<std::int64_t> record_function_id{-1};
  Column<std::int64_t> external_id;
  Column<ArgumentListId> arguments;
  std::int64_t count = 0;
  bool has_gradients = false;
  std::vector<std::string> input_texts;  // each once
  TensorUseTable tensors;                // spans count from 0 here too
  std::vector<Place> places;
};

// What happened at one moment.
struct DecodedMoments {
  DecodedMoments() {
    allocations.visit_columns([](const char*, auto& column) { column.pack(); });
  }

  struct Moment {
    std::int64_t time_ns;
    std::uint32_t name;
    double value;        // counters
    std::uint32_t span;  // the innermost open span; SpanId::kInvalid if none
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

  // What a tensor is for.
  struct Role {
    std::int64_t time_ns;
    std::uint64_t storage;
    std::uint32_t name;
    TensorPurpose purpose;
  };

  std::vector<Moment> instants;
  std::vector<Moment> counters;
  std::vector<FlowEnd> flows;
  std::vector<AsyncEdge> asyncs;
  std::vector<Role> roles;
  AllocationTable allocations;  // spans count from 0 here too; tracks are unknown

  bool empty() const {
    return instants.empty() && counters.empty() && flows.empty() && asyncs.empty() &&
           roles.empty() && allocations.empty();
  }
};

// What sources of device work recorded; device_rows.h turns it into rows.
struct DecodedDevices {
  struct ApiCall {
    std::uint32_t span;
    std::uint32_t callback_id;
    std::uint64_t correlation;
  };
  struct GraphNode {
    std::uint64_t id;
    std::uint64_t copied_from;
    std::uint32_t span;  // that made it; SpanId::kInvalid if none
  };

  std::vector<ApiCall> api_calls;
  std::vector<GraphNode> graph_nodes;
  std::vector<std::uint64_t> words;  // each record's head, then its payload
};

struct DecodeCounts {
  std::uint64_t records = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t out_of_window = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t undecodable = 0;
  std::uint64_t lost = 0;  // according to the chunks
};

struct DecodedThread {
  DecodedSpans spans;
  DecodedNotes notes;
  DecodedOps ops;
  DecodedMoments moments;
  DecodedDevices devices;
  DecodeCounts counts;
  std::int64_t logical_thread = 0;
};

}  // namespace sonde
