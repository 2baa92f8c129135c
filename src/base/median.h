// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The value in the middle of all, or halfway between the two in the middle of an even number.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace sonde {

// 0 if there are none. Changes the order of the values.
template <typename T>
T median(std::vector<T>& values) {
  if (values.empty()) return T{};
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return *upper;
  return std::midpoint(*std::max_element(values.begin(), upper), *upper);
}

template <typename T>
T median_of(std::vector<T> values) {
  return median(values);
}

}  // namespace sonde
