// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a file says for which there is no column.

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/kineto/read/joined.h"
#include "convert/kineto/read/span_rows.h"

namespace sonde {

inline constexpr std::uint32_t kNoRow = 0xffffffff;

// New rows of one table, by stretch and old row; kNoRow for those that are not there any more.
using RowMap = std::vector<std::vector<std::uint32_t>>;

// The end of a flow that an event became.
struct PlacedFlow {
  std::uint32_t flow = kNoRow;
  bool is_start = false;
};
// By stretch and staged row; only of events that have extras.
using PlacedFlows = std::map<std::pair<std::uint32_t, std::uint32_t>, PlacedFlow>;

// Where the rows that extras belong to stand in the trace.
struct PlacedRows {
  SpanRows spans;
  PlacedFlows flows;
  RowMap allocations;
  RowMap instants;
  RowMap counters;
};

// Adds one row; `raw` need not be valid JSON. A file as a whole has TableKind::None and kNoRow.
void keep_extra(TraceBuilder& builder, TableKind table, std::uint32_t row, std::string_view key,
                std::string_view raw);

// Whether fill_extras() looks at the staged spans of a stretch: some have arguments or modules that
// no table holds.
bool needs_spans(const Joined& joined, std::size_t stretch);

// Adds the extras of all events by table and row, then events of unknown kinds as a whole.
void fill_extras(TraceBuilder& builder, const Joined& joined, const PlacedRows& placed);

}  // namespace sonde
