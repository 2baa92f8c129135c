// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Memory for chunks that is never given back, because threads may keep them.

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "sonde/detail/words.h"

namespace sonde::testing {

inline void* chunk_memory(std::uint32_t chunks) {
  const std::size_t bytes = (std::size_t{chunks} + 1) * detail::kChunkBytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t aligned =
      (address + detail::kChunkBytes - 1) / detail::kChunkBytes * detail::kChunkBytes;
  return static_cast<char*>(memory) + (aligned - address);
}

}  // namespace sonde::testing
