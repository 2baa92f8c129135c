// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where records go that are not inlined. This header has what recorder.cpp, the side towards
// `collect`, needs. What it offers to recording code is in thread_cursor.h and write.h.

#include <cstdint>

#include "record/pool.h"
#include "sonde/detail/thread_cursor.h"

namespace sonde::detail {

// Sets where threads take their chunks from; null: nothing is recorded. True if a pool was set
// before.
bool set_pool(Pool* pool) noexcept;
// Waits until no thread uses an earlier pool.
void wait_for_slow_path() noexcept;

// Sets the limit of a thread that may be recording now. With 0 its next record takes the slow path.
void set_limits(ThreadCursor& cursor, std::uint32_t begin, std::uint32_t end) noexcept;

// The calling thread is about to forbid itself to read the processor's counter. From here on its
// records take the slow path.
void lose_counter() noexcept;
// The calling thread will only be able to read and write (strict seccomp). From here on it records
// nothing.
void fall_silent() noexcept;

// In the child of a fork: resets the calling thread, which is the only one.
void forget_this_thread() noexcept;

}  // namespace sonde::detail
