// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Columns of spans that are computed, and columns of a span for tables that refer to one.

#include <cstdint>
#include <vector>

#include "sql/table.h"

namespace sonde::sql {

// `end_ns`, `class`, `depth` and `self_ns`.
void add_span_fields(Source& source, Part& part);

// For kernels, copies and whatever else has a `span`: its name, times, track and launch, unless the
// table has a column of that name.
void add_fields_of_span(Source& source, Part& part, const Field& span);

// What no span inside covers, for each span.
std::vector<std::int64_t> self_times(const Trace& trace);

}  // namespace sonde::sql
