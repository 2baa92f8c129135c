// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The part of the recorder that must be inlined. Everything here is nanoseconds: each instruction
// is counted by tests/codegen.

#include <atomic>
#include <cstdint>

#include "sonde/detail/words.h"
#include "sonde/sonde.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace sonde {
namespace detail {

// A thread's place in its chunk. Only the thread itself touches it, but for the limits, which the
// drainer sets to 0 to make the thread take the slow path at its next record. Trivial, in static
// TLS: a constructor, a destructor or the dynamic model would cost a call at every event.
struct ThreadCursor {
  ChunkHeader* chunk;         // never null: before the first record a chunk without room
  std::uint32_t begin_limit;  // scopes begin while `committed` is below this
  std::uint32_t end_limit;    // and end while it is below this
  std::uint32_t busy;  // a record is being written: what a signal handler records now is lost
  std::uint32_t payload_words;  // of this chunk so far, see ChunkHeader
};

extern "C" {
// Not 0 while some session records.
extern std::uint32_t sonde_detail_recording;
extern __thread ThreadCursor sonde_detail_cursor __attribute__((tls_model("initial-exec")));
}

// Out of line: first record of a thread, a chunk that is full, a site not yet known, a slow clock.
bool begin_slow(sonde_site* site, WordKind kind) noexcept;
void end_slow() noexcept;

inline bool recording() noexcept {
  return __atomic_load_n(&sonde_detail_recording, __ATOMIC_RELAXED) != 0;
}

// Only read where the inlined path is on: without a counter to read at user level, `limit` stays 0.
inline std::uint64_t fast_ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

// Reserves the place for one word: its offset, or 0 if the slow path must be taken. On success the
// cursor is busy until finish_word().
inline std::uint32_t claim_word(ThreadCursor& cursor, const std::uint32_t& limit) noexcept {
  if (__builtin_expect(cursor.busy != 0, 0)) return 0;
  cursor.busy = 1;
  // `committed` must be read after `busy` is set, or what a handler writes in between is
  // overwritten.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint32_t offset = cursor.chunk->committed;
  if (__builtin_expect(offset < __atomic_load_n(&limit, __ATOMIC_RELAXED), 1)) return offset;
  cursor.busy = 0;
  return 0;
}

// The word is written before `committed` moves, for the drainer on another core and for whoever
// reads the mapping after a crash.
inline void finish_word(ThreadCursor& cursor, std::uint32_t offset, std::uint64_t word) noexcept {
  ChunkHeader* const chunk = cursor.chunk;
  auto* at = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(chunk) + offset);
  __atomic_store_n(at, word, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->committed, offset + 8, __ATOMIC_RELEASE);  // pairs with committed_bytes
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cursor.busy = 0;
}

// A Begin or Lap. False if it was not recorded; the loss is counted.
inline bool write_begin(sonde_site* site, WordKind kind) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  const std::uint32_t id = __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);  // pairs with site_id
  if (__builtin_expect(id - 1 < kMaxWordId, 1)) {
    if (const std::uint32_t offset = claim_word(cursor, cursor.begin_limit)) {
      finish_word(cursor, offset, make_word(fast_ticks(), id, kind));
      return true;
    }
  }
  return begin_slow(site, kind);
}

// Only after a write_begin on this thread that gave true.
inline void write_end() noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  if (const std::uint32_t offset = claim_word(cursor, cursor.end_limit)) {
    finish_word(cursor, offset, make_word(fast_ticks(), 0, WordKind::End));
  } else {
    end_slow();
  }
}

}  // namespace detail
}  // namespace sonde
