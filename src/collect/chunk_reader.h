// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reading chunks that threads are filling at the same time.

#include <cstdint>
#include <span>
#include <vector>

#include "record/pool.h"
#include "wire/codec.h"

namespace sonde {

// The words from byte `from` to byte `to`, both not beyond what is committed.
void load_words(const detail::ChunkHeader* chunk, std::uint32_t from, std::uint32_t to,
                std::vector<std::uint64_t>& words);

// Copies a chunk that its thread may be writing and that others may take for themselves meanwhile.
// False if it holds no events of `stream`, or was taken while it was read.
bool copy_chunk(const detail::ChunkHeader* chunk, std::uint64_t stream, EventsHead& head,
                std::vector<std::uint64_t>& words);

struct TickRange {
  std::uint64_t first;
  std::uint64_t last;
};

// Of the first and the last record; there must be one.
TickRange ticks_of(const EventsHead& head, std::span<const std::uint64_t> words);

// Whether a window has something of it; `end` is 0 while the window is open.
bool overlaps(const TickRange& range, std::uint64_t start, std::uint64_t end);

}  // namespace sonde
