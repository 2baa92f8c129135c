// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The part of the recorder that must be inlined. Every nanosecond counts here: tests/codegen counts
// the instructions.

#include <atomic>
#include <cstdint>

#include "sonde/detail/words.h"
#include "sonde/sonde.h"

namespace sonde {
namespace detail {

// A thread's place in its chunk. Only the thread itself uses it, except for the limits, which the
// drainer sets to 0 to make the thread's next record take the slow path. Trivial, in static TLS: a
// constructor, a destructor or the dynamic model would cost a call at every event.
struct ThreadCursor {
  ChunkHeader* chunk;         // never null: before the first record, a chunk without room
  std::uint32_t begin_limit;  // scopes begin while `committed` is below this
  std::uint32_t end_limit;    // and end while it is below this
  std::uint32_t busy;  // a record is being written; what a signal handler records now is lost
  std::uint32_t payload_words;  // of this chunk so far, see ChunkHeader
};

// ThreadCursor::busy is this or 0.
constexpr std::uint32_t kBusy = 0x80000000;

extern "C" {
// Not 0 while a session records or another tool listens (src/record/listeners.h).
extern std::uint32_t sonde_detail_recording;
extern __thread ThreadCursor sonde_detail_cursor __attribute__((tls_model("initial-exec")));
}

// Not inlined: the first record of a thread, a full chunk, an unknown site, a slow clock.
bool begin_slow(sonde_site* site, WordKind kind) noexcept;
void end_slow() noexcept;

inline bool recording() noexcept {
  return __atomic_load_n(&sonde_detail_recording, __ATOMIC_RELAXED) != 0;
}

// The low 46 bits of the clock, at their place in a word. Only used where the inlined path is on:
// if the counter cannot be read at user level, the limits stay 0.
inline std::uint64_t fast_word_ticks() noexcept {
#if defined(__x86_64__)
  // The halves are shifted into place directly instead of being joined first. rdtsc clears the bits
  // above them.
  std::uint64_t low;
  std::uint64_t high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (low << kTicksShift) + (high << (32 + kTicksShift));
#elif defined(__aarch64__)
  std::uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks << kTicksShift;
#else
  return 0;
#endif
}

// g++ and clang have different macros for this.
#if defined(__SANITIZE_THREAD__)
#define SONDE_DETAIL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define SONDE_DETAIL_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define SONDE_DETAIL_THREAD_SANITIZER 0
#endif

// Reads a limit, which the drainer may be setting to 0. Without the thread sanitizer this is a
// plain load: an aligned load of 32 bits is never torn, and unlike an atomic load it can be a
// memory operand of the comparison.
inline std::uint32_t read_limit(const std::uint32_t& limit) noexcept {
#if SONDE_DETAIL_THREAD_SANITIZER
  return __atomic_load_n(&limit, __ATOMIC_RELAXED);
#else
  return limit;
#endif
}

// Writes one word into the thread's chunk while `committed` is below `limit`. False if the slow
// path must be taken.
inline bool put_word(ThreadCursor& cursor, const std::uint32_t& limit,
                     std::uint32_t low_bits) noexcept {
  const std::uint32_t was_busy = cursor.busy;
  cursor.busy = kBusy;
  // `committed` must be read after `busy` is set. Otherwise words that a handler writes in between
  // are overwritten.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ChunkHeader* const chunk = cursor.chunk;
  const std::uint32_t offset = chunk->committed;
  // One test for two conditions: kBusy is above every limit.
  if (__builtin_expect((offset | was_busy) >= read_limit(limit), 0)) {
    cursor.busy = was_busy;
    return false;
  }
  auto* at = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(chunk) + offset);
  // The word is written before `committed` moves, for the drainer on another core and for readers
  // of the mapping after a crash.
  __atomic_store_n(at, fast_word_ticks() + low_bits, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->committed, offset + 8, __ATOMIC_RELEASE);  // pairs with committed_bytes
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cursor.busy = 0;
  return true;
}

// Writes a Begin or Lap. False if it was not recorded; the loss is counted.
inline bool write_begin(sonde_site* site, WordKind kind) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  const std::uint32_t id = __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);  // pairs with site_id
  const std::uint32_t low_bits = (id << 2) | static_cast<std::uint32_t>(kind);
  if (__builtin_expect(id - 1 < kMaxWordId, 1) && put_word(cursor, cursor.begin_limit, low_bits)) {
    return true;
  }
  return begin_slow(site, kind);
}

// Call it only after a write_begin on this thread that returned true. The cursor is the thread's
// own.
inline void write_end(ThreadCursor& cursor = sonde_detail_cursor) noexcept {
  if (!put_word(cursor, cursor.end_limit, static_cast<std::uint32_t>(WordKind::End))) end_slow();
}

}  // namespace detail
}  // namespace sonde
