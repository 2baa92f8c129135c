// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The recorder's interface for `collect`, which gives it memory, turns it on and off, and asks what
// its threads hold. The program's interface is sonde/record.h and sonde/sonde.h.

#include <cstdint>
#include <functional>
#include <vector>

#include "record/dictionary.h"
#include "record/pool.h"

namespace sonde::detail {

// Gives the threads chunks to fill. There is one pool at a time. It must outlive every thread's use
// of it.
void attach_pool(Pool* pool);
// Takes the pool away. When this returns, no thread is taking or returning chunks, and each
// thread's next record takes the slow path. Recording must be off.
void detach_pool();

void set_recording(bool on) noexcept;

// Makes every thread's next record take the slow path: a listener was added or removed.
void send_threads_the_slow_way() noexcept;

// Numbers of the chunks in `memory` that threads still hold from an earlier stream.
std::vector<std::uint32_t> held_chunks(const void* memory, std::uint32_t chunk_count);

// Calls visit for the chunk that each living thread is filling in `pool`'s stream.
void for_each_live_chunk(const Pool& pool, const std::function<void(ChunkHeader*)>& visit);

// Threads that began their chunk before `ticks` take a new one at their next record, because words
// hold only the low bits of the time.
void leave_chunks_older_than(Pool& pool, std::uint64_t ticks);

// Call it before the calling thread gives up one of these for good (PR_SET_TSC and PR_SET_SECCOMP
// of prctl).
enum class GivenUp : std::uint8_t { Counter, SystemCalls };
void before_giving_up(GivenUp what) noexcept;

// Checks whether threads were renamed since they were first seen.
void refresh_thread_names();

// What a scope costs its thread, in ticks: the median over a few thousand scopes in a spare chunk.
std::uint64_t measure_scope_ticks();

// How often this process is the child of a fork() that happened while recording was attached, and
// the id of the process it was forked from.
struct ForkState {
  bool forked = false;
  std::int64_t parent = 0;
};
ForkState fork_state() noexcept;
// Called in the child after the recorder has reset itself. `collect` cleans up its own state there.
void on_fork_child(void (*handler)()) noexcept;
void on_fork_prepare(void (*before)(), void (*after_in_parent)()) noexcept;

}  // namespace sonde::detail
