// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Joins decoded threads into one trace: joins their rows, turns names into strings, completes spans
// that began on one thread and ended on another, and counts losses.

#include <cstdint>
#include <utility>
#include <vector>

#include "decode/recording_blocks.h"
#include "decode/recording_reader.h"
#include "decode/thread_decoder.h"

namespace sonde {

// Fills recording.builder. The tracks get the order of `threads`.
void assemble(Recording& recording, const DecodeContext& context,
              std::vector<std::pair<std::uint64_t, DecodedThread>> threads, const BlockFile& file,
              const RecordingFilter& filter);

// Uses the counts of a recording instead of its events. Adds everything except what only the events
// say.
TraceCounts assemble_counted(Recording& recording, const DecodeContext& context,
                             const BlockFile& file);

}  // namespace sonde
