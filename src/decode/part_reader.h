// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds the words of a recording that a stretch of time needs: the pieces that overlap it, the
// begins of what was already open, and the ends of what stayed open. Nothing else is read.

#include <cstdint>
#include <optional>
#include <vector>

#include "decode/thread_decoder.h"
#include "file/block_file.h"
#include "wire/piece_mark.h"

namespace sonde {

struct NeededThread {
  std::uint64_t id = 0;
  std::vector<Piece> pieces;  // in order; those that are `joined` follow the one before
};

// Between two ticks, both included. Nothing if the marks do not fit the file: then it must be read
// as a whole. `events` are the numbers of its events blocks.
std::optional<std::vector<NeededThread>> read_needed(const BlockFile& file,
                                                     const std::vector<std::size_t>& events,
                                                     std::vector<PieceMark> marks,
                                                     std::uint64_t first_ticks,
                                                     std::uint64_t last_ticks);

}  // namespace sonde
