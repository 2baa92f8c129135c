// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// part_of() for a trace that is itself a part.

#include <cstdint>

#include "sonde/trace/part.h"

namespace sonde {

// `rows` are the spans, instants, counters and allocations of the whole: the ledger says how many
// of them were left out.
Result<Trace> part_of(const Trace& trace, const TracePart& part, std::uint64_t rows);

}  // namespace sonde
