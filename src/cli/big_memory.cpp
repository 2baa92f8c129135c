// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Large memory of the program comes in huge pages: columns of a trace are filled once, and the
// first touch of a small page costs more than filling it. base/big_vector.h does the same for
// single vectors; this is for all of them. Sanitizers have their own allocation functions.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SONDE_OWN_NEW 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SONDE_OWN_NEW 0
#endif
#if !defined(SONDE_OWN_NEW)
#define SONDE_OWN_NEW 1
#endif

#if SONDE_OWN_NEW

#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/big_vector.h"

namespace {

constexpr std::size_t kLarge = 2 * sonde::detail::kHugePage;

void* memory_of(std::size_t bytes) noexcept {
  if (bytes < kLarge || bytes > PTRDIFF_MAX) return std::malloc(bytes > 0 ? bytes : 1);
  const std::size_t pages = (bytes + sonde::detail::kHugePage - 1) / sonde::detail::kHugePage;
  void* const memory =
      std::aligned_alloc(sonde::detail::kHugePage, pages * sonde::detail::kHugePage);
  // The last page is whole only if all of it is wanted.
  if (memory != nullptr) sonde::ask_for_huge_pages(memory, bytes);
  return memory;
}

}  // namespace

// All other forms but those with an alignment call these.
void* operator new(std::size_t bytes) {
  for (;;) {
    void* const memory = memory_of(bytes);
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

#endif
