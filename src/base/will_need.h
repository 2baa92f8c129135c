// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sonde {

// A hint: these bytes of a mapped file will be read soon. Several parts of a file on a slow disk
// arrive together if all are asked for before any is read. For other memory it does nothing.
inline void will_need(std::span<const std::uint8_t> bytes) noexcept {
  if (bytes.empty()) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
  ::madvise(const_cast<std::uint8_t*>(bytes.data()) - before, before + bytes.size(), MADV_WILLNEED);
}

}  // namespace sonde
