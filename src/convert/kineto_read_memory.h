// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Memory for millions of rows, in big pages where the system has them: filling it is then not half
// a matter of page faults.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde {

enum class Filled { InPart, Wholly };  // how much of what is reserved will be used

// Room for `count` rows.
template <typename T>
void reserve_rows(std::vector<T>& rows, std::size_t count, Filled filled = Filled::InPart) {
  constexpr std::size_t kWorthIt = std::size_t{1} << 20;
  constexpr std::uintptr_t kPage = 4096;
  rows.reserve(count);
  const std::size_t bytes = rows.capacity() * sizeof(T);
  if (bytes < kWorthIt) return;
  const auto first = (reinterpret_cast<std::uintptr_t>(rows.data()) + kPage - 1) / kPage * kPage;
  void* begin = reinterpret_cast<void*>(first);  // NOLINT(performance-no-int-to-ptr)
  const std::size_t whole = (bytes - kPage) / kPage * kPage;
  // Only advice: where it is refused nothing is lost.
  ::madvise(begin, whole, MADV_HUGEPAGE);
#if defined(MADV_POPULATE_WRITE)
  if (filled == Filled::Wholly) ::madvise(begin, whole, MADV_POPULATE_WRITE);
#else
  (void)filled;
#endif
}

}  // namespace sonde
