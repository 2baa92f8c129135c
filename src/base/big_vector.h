// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Vectors of many megabytes. The first touch of a page costs more than filling it, so large ones
// ask the system for huge pages; without them all is as usual.

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace sonde {

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
    if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes));
    void* memory = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
    if (memory == nullptr) throw std::bad_alloc();
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    if (count * sizeof(T) < kHugePage) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }

  friend bool operator==(const BigAllocator& /*a*/, const BigAllocator& /*b*/) { return true; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
};

template <typename T>
using BigVector = std::vector<T, BigAllocator<T>>;

}  // namespace sonde
