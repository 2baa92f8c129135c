// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads chunks while threads are filling them.

#include <cstdint>
#include <span>
#include <vector>

#include "record/pool.h"
#include "wire/codec.h"

namespace sonde {

// The words from byte `from` to byte `to`. Both must be within what is committed.
void load_words(const detail::ChunkHeader* chunk, std::uint32_t from, std::uint32_t to,
                std::vector<std::uint64_t>& words);

// Copies a chunk that its thread may be writing and that another thread may take meanwhile. False
// if it holds no events of `stream`, or was taken while it was read.
bool copy_chunk(const detail::ChunkHeader* chunk, std::uint64_t stream, EventsHead& head,
                std::vector<std::uint64_t>& words);

struct TickRange {
  std::uint64_t first;
  std::uint64_t last;
};

// The times of the first and the last record. There must be at least one.
TickRange ticks_of(const EventsHead& head, std::span<const std::uint64_t> words);

// Whether a window overlaps it; `end` is 0 while the window is open.
bool overlaps(const TickRange& range, std::uint64_t start, std::uint64_t end);

}  // namespace sonde
