// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The chunks of one stream: memory that the caller provides, and which thread has which chunk.
//
//   fresh ──► a thread fills it ──► full ──► the drainer writes it to files ──► free ──► a thread …
//     │              ▲                └── ring: a thread takes the oldest ──┘      ▲
//     └── the drainer touches its pages ──────────────────────────────────────────┘
//
// A thread gives up a chunk only by itself or by ending. Nobody takes it away, so a record that is
// being written always has its place.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "record/index_queue.h"
#include "sonde/detail/words.h"
#include "wire/live_file.h"

namespace sonde::detail {

class Pool {  // NOLINT(clang-analyzer-optin.performance.Padding): see IndexQueue
 public:
  // `memory` is aligned to kChunkBytes and stays mapped for the life of the process. Chunks whose
  // number is in `held` still belong to threads of an earlier stream. Losses are counted in
  // `losses`, which is 0 and stays mapped too, or in the pool itself. Not thread-safe.
  void reset(void* memory, std::uint32_t chunk_count, std::uint64_t stream,
             const std::vector<std::uint32_t>& held, LiveLosses* losses = nullptr);

  // A chunk to fill, or null when there is none. Lock-free.
  ChunkHeader* take() noexcept;
  // Returns a filled chunk from its thread to the drainer.
  void retire(ChunkHeader* chunk) noexcept;
  // Returns a chunk that nobody needs any more.
  void release(ChunkHeader* chunk) noexcept;
  // The chunk that was retired first, for the drainer; null if there is none.
  ChunkHeader* pop_full() noexcept;

  // Overwritten chunks count as lost only if they began after `ticks`: older ones were in no
  // window.
  void count_overwritten_from(std::uint64_t ticks) noexcept {
    count_from_.store(ticks, std::memory_order_relaxed);
  }
  // From now on threads leave chunks that they began before `ticks`, at their next record on the
  // slow path. Never goes back.
  void leave_before(std::uint64_t ticks) noexcept;
  bool is_to_be_left(const ChunkHeader* chunk) const noexcept {
    const std::uint64_t before = leave_before_.load(std::memory_order_seq_cst);
    return static_cast<std::int64_t>(before -
                                     __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED)) > 0;
  }
  // Threads take free chunks first, then fresh ones as far as their memory is reserved; after
  // reset() that is all of them. The thread that prepares memory takes up to `most` fresh chunks,
  // from number `first` to before the result, and offers them when they are ready.
  void set_reserved(std::uint32_t end) noexcept {
    reserved_.store(end, std::memory_order_release);  // pairs with take_run
  }
  std::uint32_t reserved() const noexcept { return reserved_.load(std::memory_order_relaxed); }
  std::uint32_t take_run(std::uint32_t most, std::uint32_t& first) noexcept;
  // Do not offer a chunk that was held: its thread gives it back itself.
  void offer(std::uint32_t index) noexcept { put(free_, chunk(index)); }

  // Whether take() may overwrite the oldest full chunk.
  void set_ring(bool ring) noexcept { ring_.store(ring, std::memory_order_relaxed); }

  std::uint64_t stream() const noexcept { return stream_; }
  std::uint32_t chunk_count() const noexcept { return chunk_count_; }
  ChunkHeader* chunk(std::uint32_t index) const noexcept {
    return reinterpret_cast<ChunkHeader*>(memory_ + std::uint64_t{index} * kChunkBytes);
  }
  bool owns(const ChunkHeader* chunk) const noexcept {
    const char* at = reinterpret_cast<const char*>(chunk);
    return memory_ != nullptr && at >= memory_ &&
           at < memory_ + std::uint64_t{chunk_count_} * kChunkBytes;
  }
  std::uint32_t index_of(const ChunkHeader* chunk) const noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<const char*>(chunk) - memory_) /
                                      kChunkBytes);
  }
  // How many chunks are no longer fresh.
  std::uint32_t fresh_used() const noexcept { return fresh_.load(std::memory_order_relaxed); }
  // Whether a thread held it when the stream began. Once released, it is handed out like any other.
  bool was_held(std::uint32_t index) const noexcept { return held_[index]; }
  // Whether a chunk may hold something: it was handed out, or was held from the start.
  bool was_used(std::uint32_t index) const noexcept { return index < fresh_used() || held_[index]; }
  std::uint64_t full_count() const noexcept { return full_.size(); }
  std::uint64_t free_count() const noexcept { return free_.size(); }
  // Counts a loss of the stream, for all threads.
  void count_loss(std::uint64_t LiveLosses::* kind, std::uint64_t count = 1) noexcept {
    __atomic_fetch_add(&(losses_->*kind), count, __ATOMIC_RELAXED);
  }
  LiveLosses losses() const noexcept;
  std::uint64_t overwritten_chunks() const noexcept {
    return overwritten_chunks_.load(std::memory_order_relaxed);
  }

  std::uint64_t mislaid_chunks() const noexcept {
    return mislaid_chunks_.load(std::memory_order_relaxed);
  }

 private:
  struct FreeCells {
    void operator()(IndexQueue::Cell* cells) const noexcept { std::free(cells); }
  };
  // From the system, which provides zeros: most cells are never touched.
  using Cells = std::unique_ptr<IndexQueue::Cell[], FreeCells>;
  static Cells new_cells(std::uint64_t count);

  bool take_fresh(std::uint32_t& index) noexcept;
  void put(IndexQueue& queue, ChunkHeader* chunk) noexcept;

  char* memory_ = nullptr;
  std::uint32_t chunk_count_ = 0;
  std::uint64_t stream_ = 0;
  std::atomic<bool> ring_{false};
  std::atomic<std::uint32_t> fresh_{0};     // the first that is fresh
  std::atomic<std::uint32_t> reserved_{0};  // end of those that may be taken
  std::atomic<std::uint64_t> overwritten_chunks_{0};
  std::atomic<std::uint64_t> mislaid_chunks_{0};
  std::atomic<std::uint64_t> count_from_{0};
  std::atomic<std::uint64_t> leave_before_{0};
  LiveLosses own_losses_;
  LiveLosses* losses_ = &own_losses_;
  std::vector<bool> held_;
  Cells free_cells_;
  Cells full_cells_;
  IndexQueue free_;
  IndexQueue full_;
};

// How many bytes of a chunk hold finished records. Everything below may be read.
inline std::uint32_t committed_bytes(const ChunkHeader* chunk) noexcept {
  return __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE);  // pairs with put_word
}

}  // namespace sonde::detail
