// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/run_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sonde {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // key, original position

bool less(const Pairs::value_type& a, const Pairs::value_type& b) {
  return a.first < b.first;
}

// Expects the same result as the standard library's stable sort.
void expect_sorted(Pairs pairs) {
  for (std::uint32_t i = 0; i < pairs.size(); ++i) pairs[i].second = i;
  Pairs wanted = pairs;
  std::stable_sort(wanted.begin(), wanted.end(), less);
  run_sort(pairs, less);
  EXPECT_EQ(pairs, wanted);
}

TEST(RunSort, SortsStablyWhateverTheOrder) {
  std::uint32_t random = 1;
  for (std::size_t size = 0; size < 400; size += 7) {
    for (const std::uint32_t keys : {2U, 10U, 100000U}) {
      Pairs pairs(size);
      for (auto& pair : pairs) pair.first = (random = random * 1664525 + 1013904223) % keys;
      expect_sorted(pairs);
    }
  }
}

TEST(RunSort, SortsJoinedRecordings) {
  Pairs pairs;
  for (std::uint32_t recording = 0; recording < 20; ++recording) {
    for (std::uint32_t source = 0; source < 3; ++source) {
      for (std::uint32_t i = 0; i < 100; ++i) pairs.push_back({recording * 300 + 3 * i, 0});
    }
  }
  expect_sorted(pairs);
}

TEST(RunSort, SortsFallingKeys) {
  Pairs pairs;
  for (std::uint32_t i = 1000; i > 0; --i) pairs.push_back({i / 3, 0});
  expect_sorted(pairs);
}

}  // namespace
}  // namespace sonde
