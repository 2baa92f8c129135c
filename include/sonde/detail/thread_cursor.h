// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The part of the recorder that must be inlined. Everything here is nanoseconds: each instruction
// is counted by tests/codegen.

#include <atomic>
#include <cstdint>

#include "sonde/detail/words.h"
#include "sonde/sonde.h"

namespace sonde {
namespace detail {

// A thread's place in its chunk. Only the thread itself touches it, except for the limits, which
// the drainer sets to 0 to make the thread take the slow path at its next record. Trivial, in
// static TLS: a constructor, a destructor or the dynamic model would cost a call at every event.
struct ThreadCursor {
  ChunkHeader* chunk;         // never null: before the first record a chunk without room
  std::uint32_t begin_limit;  // scopes begin while `committed` is below this
  std::uint32_t end_limit;    // and end while it is below this
  std::uint32_t busy;  // a record is being written: what a signal handler records now is lost
  std::uint32_t payload_words;  // of this chunk so far, see ChunkHeader
};

// ThreadCursor::busy is this or 0.
constexpr std::uint32_t kBusy = 0x80000000;

extern "C" {
// Not 0 while some session records, or another tool listens (src/record/listeners.h).
extern std::uint32_t sonde_detail_recording;
extern __thread ThreadCursor sonde_detail_cursor __attribute__((tls_model("initial-exec")));
}

// Out of line: first record of a thread, a chunk that is full, a site not yet known, a slow clock.
bool begin_slow(sonde_site* site, WordKind kind) noexcept;
void end_slow() noexcept;

inline bool recording() noexcept {
  return __atomic_load_n(&sonde_detail_recording, __ATOMIC_RELAXED) != 0;
}

// The clock's low 46 bits where a word has them. Only used where the inlined path is on: without a
// counter to read at user level the limits stay 0.
inline std::uint64_t fast_word_ticks() noexcept {
#if defined(__x86_64__)
  // The halves are shifted into place at once, not joined first; rdtsc clears what is above them.
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

// g++ and clang say it in different ways.
#if defined(__SANITIZE_THREAD__)
#define SONDE_DETAIL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define SONDE_DETAIL_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define SONDE_DETAIL_THREAD_SANITIZER 0
#endif

// A limit, which the drainer may be setting to 0. Plain where no tool watches: a load of 32 aligned
// bits is whole anyway, and compares straight from memory, which an atomic one does not.
inline std::uint32_t read_limit(const std::uint32_t& limit) noexcept {
#if SONDE_DETAIL_THREAD_SANITIZER
  return __atomic_load_n(&limit, __ATOMIC_RELAXED);
#else
  return limit;
#endif
}

// Writes one word into the thread's chunk while `committed` is below `limit`; false if the slow
// path must be taken.
inline bool put_word(ThreadCursor& cursor, const std::uint32_t& limit,
                     std::uint32_t low_bits) noexcept {
  const std::uint32_t was_busy = cursor.busy;
  cursor.busy = kBusy;
  // `committed` must be read after `busy` is set, or what a handler writes in between is
  // overwritten.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ChunkHeader* const chunk = cursor.chunk;
  const std::uint32_t offset = chunk->committed;
  // One test for both: kBusy is above every limit.
  if (__builtin_expect((offset | was_busy) >= read_limit(limit), 0)) {
    cursor.busy = was_busy;
    return false;
  }
  auto* at = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(chunk) + offset);
  // The word is written before `committed` moves, for the drainer on another core and for whoever
  // reads the mapping after a crash.
  __atomic_store_n(at, fast_word_ticks() + low_bits, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->committed, offset + 8, __ATOMIC_RELEASE);  // pairs with committed_bytes
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cursor.busy = 0;
  return true;
}

// A Begin or Lap. False if it was not recorded; the loss is counted.
inline bool write_begin(sonde_site* site, WordKind kind) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  const std::uint32_t id = __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);  // pairs with site_id
  const std::uint32_t low_bits = (id << 2) | static_cast<std::uint32_t>(kind);
  if (__builtin_expect(id - 1 < kMaxWordId, 1) && put_word(cursor, cursor.begin_limit, low_bits)) {
    return true;
  }
  return begin_slow(site, kind);
}

// Only after a write_begin on this thread that gave true; the cursor is the thread's own.
inline void write_end(ThreadCursor& cursor = sonde_detail_cursor) noexcept {
  if (!put_word(cursor, cursor.end_limit, static_cast<std::uint32_t>(WordKind::End))) end_slow();
}

}  // namespace detail
}  // namespace sonde
