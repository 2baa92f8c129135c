// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A stable sort for items that are nearly in order: a few sorted lists one after the other, or
// interleaved with little overlap. Recordings are like this, because each source wrote its own
// events in order.
//
//   run_sort(keys, [](const Key& a, const Key& b) { return a.start < b.start; });
//
// Takes one pass if everything is in order, two or three for joined recordings, and n log n in the
// worst case.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace sonde {

namespace detail {

inline constexpr std::size_t kShortestRun = 32;

// Where the sorted runs begin, and the end. Short runs are sorted in place.
template <typename T, typename Less>
std::vector<std::size_t> find_runs(std::span<T> items, const Less& less) {
  std::vector<std::size_t> starts;
  std::size_t at = 0;
  while (at < items.size()) {
    starts.push_back(at);
    std::size_t end = at + 1;
    while (end < items.size() && !less(items[end], items[end - 1])) ++end;
    const std::size_t wanted = std::min(items.size(), at + kShortestRun);
    for (; end < wanted; ++end) {
      const auto first = items.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last = items.begin() + static_cast<std::ptrdiff_t>(end);
      std::rotate(std::upper_bound(first, last, *last, less), last, last + 1);
    }
    at = end;
  }
  starts.push_back(items.size());
  return starts;
}

// Merges two neighbouring sorted runs. Only the overlap is moved.
template <typename T, typename Less>
void merge_neighbours(std::span<T> items, std::size_t first, std::size_t middle, std::size_t last,
                      std::vector<T>& scratch, const Less& less) {
  if (first == middle || middle == last || !less(items[middle], items[middle - 1])) return;
  const auto at = [items](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
  auto left = std::upper_bound(at(first), at(middle), items[middle], less);
  auto right = at(middle);
  const auto right_end = std::lower_bound(right, at(last), items[middle - 1], less);
  scratch.assign(left, right);
  auto out = left;
  auto kept = scratch.begin();
  while (kept != scratch.end() && right != right_end) {
    *out++ = less(*right, *kept) ? *right++ : *kept++;
  }
  std::copy(kept, scratch.end(), out);
}

}  // namespace detail

template <typename T, typename Less>
void run_sort(std::span<T> items, const Less& less) {
  const std::vector<std::size_t> runs = detail::find_runs(items, less);
  const std::size_t count = runs.size() - 1;
  std::vector<T> scratch;
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t i = 0; i + width < count; i += 2 * width) {
      detail::merge_neighbours(items, runs[i], runs[i + width],
                               runs[std::min(i + 2 * width, count)], scratch, less);
    }
  }
}

template <typename T, typename Less>
void run_sort(std::vector<T>& items, const Less& less) {
  run_sort(std::span<T>(items), less);
}

}  // namespace sonde
