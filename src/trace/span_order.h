// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Puts spans into row order and finds their parents.

#include <cstdint>
#include <vector>

#include "sonde/trace/tables_gen.h"

namespace sonde {

// Sorts spans by track, start and falling duration, stably, and updates every column that refers to
// a span. Ids must have been checked. If the table is already in order, this takes one pass.
// Returns the first span of each track, then the end of the last track.
std::vector<std::uint32_t> order_spans(TraceTables& tables);

// Gives spans on thread tracks that have no parent the innermost span that contains them. Spans
// must be in row order. `track_begin` is what order_spans() returned.
void find_parents(TraceTables& tables, const std::vector<std::uint32_t>& track_begin);

}  // namespace sonde
