// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Vectors of many megabytes. The first touch of a page costs more than filling it, so large vectors
// ask the system for huge pages. Without these they work as usual.
//
//   BigVector<Key> keys(millions);                   // asks by itself
//   reserve_filled(values, millions);                // for a std::vector that others will hold:
//                                                    // reserve_big() and touch_reserved()
//   ask_for_huge_pages(column.data(), bytes);        // for memory that someone else reserved

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace sonde {

namespace detail {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// The whole small pages inside a piece of memory.
struct Pages {
  Pages(const void* memory, std::size_t size) {
    constexpr std::uintptr_t kPage = 4096;
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t rounded = (first + kPage - 1) / kPage * kPage;
    const std::uintptr_t last = (first + size) / kPage * kPage;
    begin = reinterpret_cast<void*>(rounded);  // NOLINT(performance-no-int-to-ptr)
    bytes = last > rounded ? last - rounded : 0;
  }
  void* begin;
  std::size_t bytes;
};

}  // namespace detail

// `bytes` of memory, a whole multiple of `alignment`. Where there is none it does what `new` does:
// it calls the handler that the program may have set.
inline void* aligned_memory(std::size_t alignment, std::size_t bytes) {
  for (;;) {
    if (void* const memory = std::aligned_alloc(alignment, bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

// A hint, given only for large memory. If it is refused, nothing is lost.
inline void ask_for_huge_pages(const void* memory, std::size_t bytes) {
  if (bytes < detail::kHugePage) return;
  const detail::Pages pages(memory, bytes);
  ::madvise(pages.begin, pages.bytes, MADV_HUGEPAGE);
}

template <typename T>
class BigAllocator {
 public:
  using value_type = T;  // NOLINT(readability-identifier-naming): the standard's name

  BigAllocator() = default;
  template <typename U>
  BigAllocator(const BigAllocator<U>& /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) {
    if (count > (std::size_t{1} << 60) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < detail::kHugePage) return static_cast<T*>(::operator new(bytes));
    const std::size_t whole = (bytes + detail::kHugePage - 1) / detail::kHugePage;
    void* const memory = aligned_memory(detail::kHugePage, whole * detail::kHugePage);
    ask_for_huge_pages(memory, bytes);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    if (count * sizeof(T) < detail::kHugePage) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }

  friend bool operator==(const BigAllocator& /*a*/, const BigAllocator& /*b*/) { return true; }
};

template <typename T>
using BigVector = std::vector<T, BigAllocator<T>>;

// Reserves room for `count` items, on huge pages if it is large.
template <typename T, typename Allocator>
void reserve_big(std::vector<T, Allocator>& items, std::size_t count) {
  items.reserve(count);
  ask_for_huge_pages(items.data(), count * sizeof(T));
}

// Touches all reserved pages at once, on the calling thread, instead of one by one when they are
// filled. Other threads may do the same meanwhile, but must wait before they reserve.
template <typename T, typename Allocator>
void touch_reserved(const std::vector<T, Allocator>& items) {
#if defined(MADV_POPULATE_WRITE)
  constexpr std::size_t kWorthIt = std::size_t{1} << 20;
  const std::size_t bytes = items.capacity() * sizeof(T);
  const detail::Pages pages(items.data(), bytes);
  if (bytes >= kWorthIt) ::madvise(pages.begin, pages.bytes, MADV_POPULATE_WRITE);
#else
  static_cast<void>(items);
#endif
}

template <typename T, typename Allocator>
void reserve_filled(std::vector<T, Allocator>& items, std::size_t count) {
  reserve_big(items, count);
  touch_reserved(items);
}

}  // namespace sonde
