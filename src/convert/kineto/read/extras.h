// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Keeps what a file says but no column can hold.

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/kineto/read/joined.h"
#include "convert/kineto/read/span_rows.h"

namespace sonde {

inline constexpr std::uint32_t kNoRow = 0xffffffff;

// New rows of one table, by stretch and old row; kNoRow for rows that no longer exist.
using RowMap = std::vector<std::vector<std::uint32_t>>;

// The flow, and which of its ends, that an event became.
struct PlacedFlow {
  std::uint32_t flow = kNoRow;
  bool is_start = false;
};
// By stretch and staged row. Only events that have extras are listed.
using PlacedFlows = std::map<std::pair<std::uint32_t, std::uint32_t>, PlacedFlow>;

// Where the rows that have extras are in the trace.
struct PlacedRows {
  SpanRows spans;
  PlacedFlows flows;
  RowMap allocations;
  RowMap instants;
  RowMap counters;
};

// Adds one row. `raw` need not be valid JSON. For the file as a whole pass TableKind::None and
// kNoRow.
void keep_extra(TraceBuilder& builder, TableKind table, std::uint32_t row, std::string_view key,
                std::string_view raw);

// Whether fill_extras() reads the staged spans of a stretch, because some have arguments or modules
// that no table holds.
bool needs_spans(const Joined& joined, std::size_t stretch);

// Adds the extras of all events by table and row, then whole events of unknown kinds.
void fill_extras(TraceBuilder& builder, const Joined& joined, const PlacedRows& placed);

}  // namespace sonde
