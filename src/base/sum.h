// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

namespace sonde::detail {

// Adds times or bytes of an untrusted trace. The sum saturates instead of overflowing.
inline void add_to(std::int64_t& sum, std::int64_t more) noexcept {
  if (!__builtin_add_overflow(sum, more, &sum)) return;
  using Limits = std::numeric_limits<std::int64_t>;
  sum = more > 0 ? Limits::max() : Limits::min();
}

inline void take_from(std::int64_t& sum, std::int64_t less) noexcept {
  if (!__builtin_sub_overflow(sum, less, &sum)) return;
  using Limits = std::numeric_limits<std::int64_t>;
  sum = less > 0 ? Limits::min() : Limits::max();
}

}  // namespace sonde::detail
