// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where records go that are not inlined: what recorder.cpp, on the side towards `collect`, asks of
// it. What it offers to those who record is in thread_cursor.h and write.h.

#include <cstdint>

#include "record/pool.h"
#include "sonde/detail/thread_cursor.h"

namespace sonde::detail {

// Where threads take their chunks from; null: nothing is recorded. True if there was one before.
bool set_pool(Pool* pool) noexcept;
// Returns when no thread uses a pool that was set earlier.
void wait_for_slow_path() noexcept;

// Of a thread that may be recording now. 0: its next record comes to the slow path.
void set_limits(ThreadCursor& cursor, std::uint32_t begin, std::uint32_t end) noexcept;

// In the child of a fork: the calling thread, the only one, begins anew.
void forget_this_thread() noexcept;

}  // namespace sonde::detail
