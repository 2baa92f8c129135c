// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A list that grows without moving what it has, for many millions of items whose number is not
// known before. A vector that doubles its room holds both copies for a moment, in new pages.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/big_vector.h"

namespace sonde {

template <typename T>
class Pieces {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return pieces_[i / kItems][i % kItems]; }
  const T& operator[](std::size_t i) const noexcept { return pieces_[i / kItems][i % kItems]; }
  const T& back() const noexcept { return pieces_.back().back(); }

  void push_back(const T& item) {
    if (size_ % kItems == 0) {
      pieces_.emplace_back();
      // Most lists are short, and grow as vectors do.
      if (size_ > 0) pieces_.back().reserve(kItems);
    }
    pieces_.back().push_back(item);
    ++size_;
  }

 private:
  static constexpr std::size_t kItems = detail::kHugePage / sizeof(T);  // of a piece

  std::vector<BigVector<T>> pieces_;
  std::size_t size_ = 0;
};

}  // namespace sonde
