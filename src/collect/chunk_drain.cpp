// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/chunk_drain.h"

#include <array>
#include <span>

#include "collect/chunk_reader.h"
#include "record/recorder.h"

namespace sonde {

using detail::ChunkHeader;

namespace {

// Full chunks that could not be written because memory ran out stay full.
struct PutBack {
  detail::Pool& pool;
  std::span<ChunkHeader*> chunks;
  ~PutBack() {
    for (ChunkHeader* chunk : chunks) pool.retire(chunk);
  }
};

}  // namespace

bool ChunkDrain::full_chunks(Stream& stream, const Take& take, const Flush& flush) {
  detail::Pool& pool = stream.pool();
  // Stop at the present number: threads may fill chunks as fast as they are drained.
  std::uint64_t left = pool.full_count();
  std::array<ChunkHeader*, 16> batch{};
  bool complete = true;
  while (left > 0) {
    std::size_t count = 0;
    for (; count < batch.size() && left > 0; --left) {
      ChunkHeader* full = pool.pop_full();
      if (full == nullptr) {  // a thread was interrupted while adding one
        complete = false;
        left = 0;
        break;
      }
      batch[count++] = full;
    }
    PutBack unless_written{pool, std::span(batch).first(count)};
    for (std::size_t i = 0; i < count; ++i) chunk(pool, batch[i], take);
    flush();
    unless_written.chunks = {};
    for (std::size_t i = 0; i < count; ++i) pool.release(batch[i]);
    stream.prepare_ahead();
  }
  return complete;
}

void ChunkDrain::live_chunks(detail::Pool& pool, const Take& take) {
  // A chunk that its thread leaves meanwhile does not change: only this thread hands it out again.
  std::vector<ChunkHeader*> live;
  detail::for_each_live_chunk(pool, [&](ChunkHeader* found) { live.push_back(found); });
  for (ChunkHeader* found : live) chunk(pool, found, take);
}

void ChunkDrain::chunk(const detail::Pool& pool, ChunkHeader* chunk, const Take& take) {
  const std::uint32_t index = pool.index_of(chunk);
  if (index >= taken_.size()) taken_.resize(index + 1);
  Taken& taken = taken_[index];
  EventsHead head;
  head.thread = __atomic_load_n(&chunk->thread, __ATOMIC_RELAXED);
  head.sequence = __atomic_load_n(&chunk->sequence, __ATOMIC_RELAXED);
  if (taken.thread != head.thread || taken.sequence != head.sequence) {
    taken = {head.thread, head.sequence, detail::kChunkFirstWord};
  }
  if (taken.offset == detail::kChunkFirstWord) {
    head.lost_before = __atomic_load_n(&chunk->lost_before, __ATOMIC_RELAXED);
    head.lost_ends_before = __atomic_load_n(&chunk->lost_ends_before, __ATOMIC_RELAXED);
  }
  const std::uint32_t committed = detail::committed_bytes(chunk);
  if (committed <= taken.offset) return;
  head.first_offset = taken.offset;
  head.base_ticks = __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED);
  load_words(chunk, taken.offset, committed, words_);
  head.word_count = static_cast<std::uint32_t>(words_.size());
  take(head, words_);
  taken.offset = committed;
  __atomic_store_n(&chunk->drained, committed, __ATOMIC_RELAXED);
}

}  // namespace sonde
