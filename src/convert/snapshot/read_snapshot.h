// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads snapshots of PyTorch's CUDA allocator (`torch.cuda.memory._dump_snapshot`) as traces.
//
// Each entry of the history becomes a row of allocations with its stack and the allocator's totals
// after it. A block that is in use at the end and older than the history counts as allocated at the
// start. The user's annotations become spans. The metadata says how much of the segments is unused.

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "sonde/result.h"
#include "sonde/trace/builder.h"

namespace sonde {

// Fails if the values of the pickle take more than `most_memory` bytes.
Result<Trace> read_snapshot(std::span<const std::uint8_t> pickle, const std::string& path,
                            TraceBuilder builder,
                            std::uint64_t most_memory = std::numeric_limits<std::uint64_t>::max());

}  // namespace sonde
