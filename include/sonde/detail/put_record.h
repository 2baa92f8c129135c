// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes records longer than a word, if the thread's chunk has room and nothing else needs to be
// done. Inlined for the same reason as thread_cursor.h.

#include <atomic>
#include <cstdint>

#include "sonde/detail/thread_cursor.h"
#include "sonde/detail/words.h"
#include "sonde/source/device.h"
#include "sonde/source/op.h"

namespace sonde {
namespace detail {

// Where and when a record was written; `chunk` is null if it was not.
struct PutAt {
  ChunkHeader* chunk = nullptr;
  std::uint32_t offset = 0;
  std::uint32_t end = 0;
  std::uint64_t word_ticks = 0;  // at their place in a word
};

inline void prefetch_for_writing(const std::uint64_t* at) noexcept {
#if defined(__x86_64__)
  // The builtin emits a prefetch for reading unless one compiles for newer processors. Processors
  // that do not know this instruction ignore it.
  __asm__ volatile("prefetchw %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 1);
#endif
}

// store(address) must write the words of the payload.
template <typename Store>
inline __attribute__((always_inline)) PutAt put_with(ThreadCursor& cursor, ExtendedKind kind,
                                                     std::uint32_t payload_count,
                                                     const Store& store) noexcept {
  const std::uint32_t was_busy = cursor.busy;
  cursor.busy = kBusy;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // as in put_word
  ChunkHeader* const chunk = cursor.chunk;
  const std::uint32_t offset = chunk->committed;
  const std::uint32_t bytes = (payload_count + 1) * 8;
  // Computed in 64 bits, because the chunk without room is full up to the last of 32 bits.
  if (__builtin_expect(std::uint64_t{offset | was_busy} + bytes > read_limit(cursor.begin_limit),
                       0)) {
    cursor.busy = was_busy;
    return {};
  }
  auto* at = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(chunk) + offset);
  // This core has not touched these cache lines yet. Prefetched now, they are ready for the records
  // that follow.
  prefetch_for_writing(at + 32);
  store(at + 1);
  const std::uint64_t low_bits = make_extended(0, kind, payload_count);
  const std::uint64_t ticks = fast_word_ticks();
  __atomic_store_n(at, ticks + low_bits, __ATOMIC_RELAXED);
  cursor.payload_words += payload_count;
  __atomic_store_n(&chunk->committed, offset + bytes, __ATOMIC_RELEASE);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cursor.busy = 0;
  return {chunk, offset, offset + bytes, ticks};
}

// Writes a record of one word directly behind another one, with the time of that: the clock is not
// read again. False if there is no room, or if something was written in between, such as by a
// signal handler.
inline bool put_behind(ThreadCursor& cursor, const PutAt& before, ExtendedKind kind,
                       std::uint64_t payload) noexcept {
  const std::uint32_t was_busy = cursor.busy;
  cursor.busy = kBusy;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // as in put_word
  ChunkHeader* const chunk = cursor.chunk;
  const std::uint32_t offset = chunk->committed;
  constexpr std::uint32_t kBytes = 16;
  if (__builtin_expect(std::uint64_t{offset | was_busy} + kBytes > read_limit(cursor.begin_limit) ||
                           chunk != before.chunk || offset != before.end,
                       0)) {
    cursor.busy = was_busy;
    return false;
  }
  auto* at = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(chunk) + offset);
  __atomic_store_n(at + 1, payload, __ATOMIC_RELAXED);
  __atomic_store_n(at, before.word_ticks + make_extended(0, kind, 1), __ATOMIC_RELAXED);
  cursor.payload_words += 1;
  __atomic_store_n(&chunk->committed, offset + kBytes, __ATOMIC_RELEASE);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cursor.busy = 0;
  return true;
}

// Returns the record's position; 0 if it was not written.
inline std::uint64_t put_extended(ThreadCursor& cursor, ExtendedKind kind,
                                  const std::uint64_t* payload,
                                  std::uint32_t payload_count) noexcept {
  const PutAt put = put_with(cursor, kind, payload_count, [=](std::uint64_t* at) {
    for (std::uint32_t i = 0; i < payload_count; ++i)
      __atomic_store_n(at + i, payload[i], __ATOMIC_RELAXED);
  });
  return put.chunk != nullptr ? make_position(put.chunk->sequence, put.offset) : 0;
}

// The first word of an OpBegin's payload; see ExtendedKind.
inline std::uint64_t op_name_word(std::uint32_t name, std::uint8_t scope) noexcept {
  return name | (std::uint64_t{scope} << 32);
}

// sonde_op_begin for a caller that uses it at every operator. Arguments are passed by value, so
// that what the fast path needs stays in registers. The cursor is the thread's own.
__attribute__((noinline, unused)) static bool op_begin_by_call(
    std::uint32_t name, std::uint8_t scope, std::int64_t sequence_number,
    std::uint64_t forward_thread, std::uint64_t record_function_id) noexcept {
  const sonde_op op = {sizeof(op),      name,           scope,
                       sequence_number, forward_thread, record_function_id};
  return sonde_op_begin(&op) != 0;
}

// `written` gets where that was, if that was on the short way.
inline __attribute__((always_inline)) bool write_op_begin(ThreadCursor& cursor, std::uint32_t name,
                                                          std::uint8_t scope,
                                                          std::int64_t sequence_number,
                                                          std::uint64_t forward_thread,
                                                          std::uint64_t record_function_id,
                                                          PutAt* written = nullptr) noexcept {
  const std::uint64_t sequence = static_cast<std::uint64_t>(sequence_number) + 1;
  const bool is_short = (((record_function_id | sequence) >> 32) | forward_thread) == 0;
  const auto store = [=](std::uint64_t* at) {
    __atomic_store_n(at, op_name_word(name, scope), __ATOMIC_RELAXED);
    __atomic_store_n(at + 1, record_function_id | (sequence << 32), __ATOMIC_RELAXED);
  };
  if (__builtin_expect(recording() && is_short, 1)) {
    const PutAt put = put_with(cursor, ExtendedKind::OpShort, 2, store);
    if (written != nullptr) *written = put;
    if (put.chunk != nullptr) return true;
  }
  return op_begin_by_call(name, scope, sequence_number, forward_thread, record_function_id);
}

// sonde_op_place for a caller that uses it at every operator, with what write_op_begin has told.
inline void write_op_place(ThreadCursor& cursor, const PutAt& begin, std::uint32_t stack,
                           std::uint32_t module) noexcept {
  const std::uint64_t payload = stack | (std::uint64_t{module} << 32);
  if (payload == 0) return;
  if (recording() && put_behind(cursor, begin, ExtendedKind::OpPlace, payload)) return;
  sonde_op_place(stack, module);
}

// The first word of an ApiBegin's payload; see ExtendedKind.
inline std::uint64_t api_name_word(const sonde_api_call& call) noexcept {
  return call.name | (std::uint64_t{call.kind} << 32) | (std::uint64_t{call.callback_id} << 40);
}

__attribute__((noinline, unused)) static bool api_begin_by_call(sonde_api_call call) noexcept {
  return sonde_api_begin(&call) != 0;
}

// sonde_api_begin for a caller that uses it at every launch.
inline __attribute__((always_inline)) bool write_api_begin(ThreadCursor& cursor,
                                                           const sonde_api_call& call) noexcept {
  const auto store = [&](std::uint64_t* at) {
    __atomic_store_n(at, api_name_word(call), __ATOMIC_RELAXED);
    __atomic_store_n(at + 1, call.correlation, __ATOMIC_RELAXED);
  };
  if (__builtin_expect(recording(), 1) &&
      put_with(cursor, ExtendedKind::ApiBegin, 2, store).chunk != nullptr) {
    return true;
  }
  return api_begin_by_call(call);
}

}  // namespace detail
}  // namespace sonde
