// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/median.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sonde {
namespace {

TEST(Median, IsTheValueInTheMiddle) {
  EXPECT_EQ(median_of(std::vector<std::int64_t>{9, 1, 5}), 5);
  EXPECT_EQ(median_of(std::vector<double>{4}), 4);
}

TEST(Median, IsHalfwayBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median_of(std::vector<std::int64_t>{10, 1, 6, 2}), 4);
  EXPECT_EQ(median_of(std::vector<double>{2, 1}), 1.5);
}

TEST(Median, OfNothingIsNothing) {
  EXPECT_EQ(median_of(std::vector<std::int64_t>{}), 0);
}

}  // namespace
}  // namespace sonde
