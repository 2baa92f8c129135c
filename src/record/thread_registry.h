// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The threads that record. A thread enters at its first record and leaves when it ends.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "record/listeners.h"
#include "record/quiet_lock.h"
#include "record/recorder.h"
#include "sonde/detail/thread_cursor.h"

namespace sonde::detail {

// The numbers of names that a thread used recently. A name is identified by a 64-bit hash.
class NameCache {
 public:
  // 0 if there is none. A signal handler may put another name there meanwhile: the slot counts only
  // if it had the hash before and after.
  std::uint32_t find(std::uint64_t hash) const noexcept {
    const Slot& slot = slots_[hash % kSlots];
    const bool had = slot.hash == hash;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t id = slot.id;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return had && slot.hash == hash ? id : 0;
  }
  void put(std::uint64_t hash, std::uint32_t id) noexcept { slots_[hash % kSlots] = {hash, id}; }

 private:
  static constexpr std::size_t kSlots = 64;
  struct Slot {
    std::uint64_t hash;
    std::uint32_t id;
  };
  Slot slots_[kSlots] = {};
};

std::uint64_t name_hash(std::string_view name) noexcept;

// Where a thread continues if it records after it has left.
struct ThreadPast {
  std::uint64_t thread = 0;  // 0: it has none
  std::uint64_t next_sequence = 0;
  std::uint64_t next_async = 0;
};

struct ThreadRecord {
  std::uint64_t thread = 0;  // unique in the process, counted from 1
  std::uint64_t kernel_id = 0;
  ThreadCursor* cursor = nullptr;
  std::atomic<ChunkHeader*> chunk{nullptr};  // cursor->chunk, for the drainer
  std::atomic<std::uint64_t> stream{0};      // of that chunk
  std::uint64_t next_sequence = 0;
  std::uint64_t next_async = 0;
  std::uint64_t lost = 0;       // records since its last chunk
  std::uint32_t lost_ends = 0;  // how many of them are ends
  char name[16] = {};
  NameCache names;
  ToldScopes told;  // of the thread's open scopes
  // Ranges of this thread that ended on other threads: pops that each tool has yet to see.
  std::array<std::atomic<std::uint32_t>, kToolCount> owed_pops{};
  ThreadRecord* next = nullptr;
  ThreadRecord* previous = nullptr;
};

class ThreadRegistry {
 public:
  // Null if the system has no memory left. Needs no heap, see Dictionary.
  ThreadRecord* enter(ThreadCursor* cursor, const ThreadPast& past) noexcept;
  void leave(ThreadRecord* record) noexcept;
  // In the child of a fork: forgets all threads.
  void forget_all() noexcept;

  template <typename Visit>
  void for_each(Visit&& visit) {
    const QuietLock guard(mutex_);
    for (ThreadRecord* r = first_; r != nullptr; r = r->next) visit(*r);
  }

  void lock() { mutex_.lock(); }  // around fork()
  void unlock() { mutex_.unlock(); }

 private:
  ThreadRecord* allocate() noexcept;

  std::mutex mutex_;
  ThreadRecord* first_ = nullptr;
  ThreadRecord* free_ = nullptr;
  ThreadRecord* fresh_ = nullptr;  // those of the last slab that were never used
  ThreadRecord* fresh_end_ = nullptr;
  std::uint64_t next_thread_ = 1;
};

ThreadRegistry& thread_registry() noexcept;

// Stores the thread's present name in its record; true if it changed. Call it only on that thread.
bool read_thread_name(ThreadRecord& record) noexcept;
// The same for the calling thread's record.
bool read_own_name(ThreadRecord& record) noexcept;

}  // namespace sonde::detail
