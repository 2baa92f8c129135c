// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/chunk_reader.h"

#include <algorithm>
#include <atomic>

namespace sonde {

using detail::ChunkHeader;
using detail::kChunkBytes;

void load_words(const ChunkHeader* chunk, std::uint32_t from, std::uint32_t to,
                std::vector<std::uint64_t>& words) {
  const auto* first =
      reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(chunk) + from);
  words.resize((to - from) / 8);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = __atomic_load_n(first + i, __ATOMIC_RELAXED);
}

bool copy_chunk(const ChunkHeader* chunk, std::uint64_t stream, EventsHead& head,
                std::vector<std::uint64_t>& words) {
  const auto state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);  // pairs with next_chunk
  if (state != detail::kChunkEvents || __atomic_load_n(&chunk->stream, __ATOMIC_RELAXED) != stream)
    return false;
  head.thread = __atomic_load_n(&chunk->thread, __ATOMIC_RELAXED);
  head.sequence = __atomic_load_n(&chunk->sequence, __ATOMIC_RELAXED);
  head.base_ticks = __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED);
  head.lost_before = __atomic_load_n(&chunk->lost_before, __ATOMIC_RELAXED);
  head.lost_ends_before = __atomic_load_n(&chunk->lost_ends_before, __ATOMIC_RELAXED);
  head.first_offset = detail::kChunkFirstWord;
  const std::uint32_t committed = std::min(detail::committed_bytes(chunk), kChunkBytes);
  if (committed <= detail::kChunkFirstWord) return false;
  load_words(chunk, detail::kChunkFirstWord, committed, words);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with mark_free
  // If the chunk has a new owner already, its number must not be read before its state: pairs with
  // next_chunk. Processors that order loads do not care; AArch64 does.
  return __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) == state &&
         __atomic_load_n(&chunk->thread, __ATOMIC_RELAXED) == head.thread &&
         __atomic_load_n(&chunk->sequence, __ATOMIC_RELAXED) == head.sequence;
}

TickRange ticks_of(const EventsHead& head, std::span<const std::uint64_t> words) {
  std::uint64_t last_word = words[0];
  for (std::size_t i = 0; i < words.size(); i += 1 + detail::payload_words(words[i]))
    last_word = words[i];
  return {full_ticks(words[0], head.base_ticks), full_ticks(last_word, head.base_ticks)};
}

bool overlaps(const TickRange& range, std::uint64_t start, std::uint64_t end) {
  return range.last >= start && (end == 0 || range.first <= end);
}

}  // namespace sonde
