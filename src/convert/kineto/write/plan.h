// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Everything that is worked out before the first event is written: which ids lines get, which texts
// are rendered already, which rows belong to which span. Any number of threads may read it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "convert/kineto/write/fragments.h"
#include "convert/kineto/write/identity.h"
#include "convert/kineto/write/json_strings.h"
#include "convert/kineto/write/launch_flows.h"
#include "convert/kineto/write/span_join.h"
#include "convert/kineto/write/span_lanes.h"
#include "convert/kineto/write/track_points.h"
#include "sonde/trace.h"

namespace sonde {

// The rows of extras that belong to rows of one table.
class ExtraJoin {
 public:
  ExtraJoin(const ExtraTable& extras, TableKind of_table);
  ExtraJoin(const ExtraJoin&) = delete;
  ExtraJoin& operator=(const ExtraJoin&) = delete;

  class Cursor {
   public:
    Cursor(const ExtraJoin& join, std::uint32_t first)
        : rows_(join.rows_.data()), cursor_(join.join_, SpanId(first)) {}
    bool has(std::uint32_t row) const { return cursor_.has(SpanId(row)); }
    ExtraId take() { return ExtraId(rows_[cursor_.take()]); }

   private:
    const std::uint32_t* rows_;
    SpanJoin::Cursor cursor_;
  };

  // Finds all extras of one row, for tables that are not walked in order.
  void find(std::uint32_t row, std::vector<ExtraId>& found) const;

 private:
  std::vector<SpanId> owners_;  // as row numbers; only spans have many
  std::vector<std::uint32_t> rows_;
  SpanJoin join_;
};

// Neighbouring spans of a track with the points between them, rendered in one go.
struct EventBlock {
  std::size_t track = 0;
  SpanId first;
  SpanId last;  // one past the last
  std::span<const Point> points;
};

class KinetoPlan {
 public:
  explicit KinetoPlan(const Trace& source);
  KinetoPlan(const KinetoPlan&) = delete;
  KinetoPlan& operator=(const KinetoPlan&) = delete;

  // All events, in the order in which they are written.
  std::vector<EventBlock> blocks() const;

  const Trace& trace;
  std::int64_t base_ns;
  bool has_overloads_in_names;
  JsonStrings strings;
  SpanLanes lanes;
  KinetoIdentity identity;
  FlowTable derived_flows;
  const FlowTable& flows;
  TrackPoints points;
  Fragments arguments;
  Fragments stacks;
  Fragments modules;
  SpanJoin kernels;
  SpanJoin copies;
  SpanJoin api_calls;
  SpanJoin syncs;
  SpanJoin collectives;
  SpanJoin python_calls;
  SpanJoin flows_from;
  SpanJoin flows_to;
  ExtraJoin span_extras;
  ExtraJoin allocation_extras;
  ExtraJoin instant_extras;
  ExtraJoin counter_extras;
  ExtraJoin flow_extras;
  std::vector<std::uint32_t> async_spans;  // rising rows; the index is the number of the pair
};

// The value of a top-level key of the file; invalid if there is none.
StringId find_metadata(const Trace& trace, std::string_view key);

}  // namespace sonde
