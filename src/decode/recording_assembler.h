// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Decoded threads to one trace: rows joined, names turned into strings, what began on one thread
// and ended on another brought together, losses counted.

#include <cstdint>
#include <utility>
#include <vector>

#include "decode/recording_blocks.h"
#include "decode/recording_reader.h"
#include "decode/thread_decoder.h"

namespace sonde {

// Fills recording.builder; `threads` are in the order their tracks shall have.
void assemble(Recording& recording, const DecodeContext& context,
              std::vector<std::pair<std::uint64_t, DecodedThread>> threads, const BlockFile& file,
              const RecordingFilter& filter);

// From the counts of a recording instead of its events: all but what they say in detail.
TraceCounts assemble_counted(Recording& recording, const DecodeContext& context,
                             const BlockFile& file);

}  // namespace sonde
