// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/pool.h"

#include <algorithm>
#include <bit>
#include <new>

namespace sonde::detail {
namespace {

// Readers of the mapping check `state` before and after they read. Words are overwritten only while
// it is Free.
void mark_free(ChunkHeader* chunk) noexcept {
  __atomic_store_n(&chunk->state, kChunkFree, __ATOMIC_RELEASE);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with copy_chunk
}

std::uint64_t records_in(const ChunkHeader* chunk) noexcept {
  const std::uint32_t words = (committed_bytes(chunk) - kChunkFirstWord) / 8;
  return words - chunk->payload_words;
}

}  // namespace

Pool::Cells Pool::new_cells(std::uint64_t count) {
  void* const cells = std::calloc(count, sizeof(IndexQueue::Cell));
  if (cells == nullptr) throw std::bad_alloc();
  return Cells(static_cast<IndexQueue::Cell*>(cells));
}

void Pool::reset(void* memory, std::uint32_t chunk_count, std::uint64_t stream,
                 const std::vector<std::uint32_t>& held, LiveLosses* losses) {
  const std::uint64_t capacity = std::bit_ceil(std::uint64_t{chunk_count} * 2);
  free_cells_ = new_cells(capacity);
  full_cells_ = new_cells(capacity);
  memory_ = static_cast<char*>(memory);
  chunk_count_ = chunk_count;
  stream_ = stream;
  held_.assign(chunk_count, false);
  for (const std::uint32_t index : held) held_[index] = true;
  free_.reset(free_cells_.get(), capacity);
  full_.reset(full_cells_.get(), capacity);
  fresh_.store(0, std::memory_order_relaxed);
  set_reserved(chunk_count);
  ring_.store(false, std::memory_order_relaxed);
  own_losses_ = {};
  losses_ = losses != nullptr ? losses : &own_losses_;
  overwritten_chunks_.store(0, std::memory_order_relaxed);
  mislaid_chunks_.store(0, std::memory_order_relaxed);
  leave_before_.store(0, std::memory_order_relaxed);
}

void Pool::leave_before(std::uint64_t ticks) noexcept {
  std::uint64_t before = leave_before_.load(std::memory_order_relaxed);
  while (static_cast<std::int64_t>(ticks - before) > 0 &&
         !leave_before_.compare_exchange_weak(before, ticks, std::memory_order_seq_cst)) {
  }
}

std::uint32_t Pool::take_run(std::uint32_t most, std::uint32_t& first) noexcept {
  first = fresh_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t end = reserved_.load(std::memory_order_acquire);  // pairs with set_reserved
    const std::uint32_t last = first + std::min(most, end > first ? end - first : 0);
    if (last == first || fresh_.compare_exchange_weak(first, last, std::memory_order_relaxed))
      return last;
  }
}

bool Pool::take_fresh(std::uint32_t& index) noexcept {
  return take_run(1, index) != index;
}

ChunkHeader* Pool::take() noexcept {
  std::uint32_t index = 0;
  if (free_.pop(index)) return chunk(index);
  while (take_fresh(index)) {
    if (!held_[index]) return chunk(index);
  }
  if (ring_.load(std::memory_order_relaxed) && full_.pop(index)) {
    ChunkHeader* oldest = chunk(index);
    if (oldest->base_ticks >= count_from_.load(std::memory_order_relaxed)) {
      count_loss(&LiveLosses::overwritten, records_in(oldest));
      overwritten_chunks_.fetch_add(1, std::memory_order_relaxed);
    }
    mark_free(oldest);
    return oldest;
  }
  return nullptr;
}

LiveLosses Pool::losses() const noexcept {
  const auto load = [](const std::uint64_t& count) {
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
  };
  return {load(losses_->spans), load(losses_->ends), load(losses_->others),
          load(losses_->in_signal), load(losses_->overwritten)};
}

void Pool::put(IndexQueue& queue, ChunkHeader* chunk) noexcept {
  // A push fails only while a pop from one whole round earlier is still in progress on a stalled
  // thread.
  for (int tries = 0; tries < 1000; ++tries) {
    if (queue.push(index_of(chunk))) return;
  }
  mislaid_chunks_.fetch_add(1, std::memory_order_relaxed);
}

void Pool::retire(ChunkHeader* chunk) noexcept {
  put(full_, chunk);
}

void Pool::release(ChunkHeader* chunk) noexcept {
  mark_free(chunk);
  put(free_, chunk);
}

ChunkHeader* Pool::pop_full() noexcept {
  std::uint32_t index = 0;
  return full_.pop(index) ? chunk(index) : nullptr;
}

}  // namespace sonde::detail
