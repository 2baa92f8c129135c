// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/pieces.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sonde {
namespace {

TEST(Pieces, KeepItemsWhereTheyAre) {
  Pieces<std::uint64_t> items;
  EXPECT_TRUE(items.empty());
  constexpr std::size_t kCount = 700'000;  // more than two pieces
  for (std::size_t i = 0; i < 300'000; ++i) items.push_back(i);
  const std::uint64_t* const first = &items[0];
  for (std::size_t i = 300'000; i < kCount; ++i) items.push_back(i);
  EXPECT_EQ(&items[0], first);
  ASSERT_EQ(items.size(), kCount);
  items[400'000] = 1;
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(items[i], i == 400'000 ? 1 : i);
}

}  // namespace
}  // namespace sonde
