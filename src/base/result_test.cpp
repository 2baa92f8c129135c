// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace sonde {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Failure(ErrorCode::Invalid, "odd");
  return n / 2;
}

Result<int> quarter(int n) {
  SONDE_TRY(const int h, half(n));
  SONDE_TRY(const int q, half(h));
  return q;
}

Result<void> is_even(int n) {
  SONDE_TRY_VOID(half(n).has_value() ? Result<void>() : Failure(ErrorCode::Invalid, "odd"));
  return {};
}

TEST(Result, PassesValuesAndErrorsUp) {
  EXPECT_EQ(*quarter(8), 2);
  ASSERT_FALSE(quarter(6));
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_TRUE(is_even(2));
  EXPECT_FALSE(is_even(3));
  EXPECT_EQ(half(3).value_or(-1), -1);
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> owned = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(owned);
  EXPECT_EQ(*taken, 5);
}

TEST(ResultDeathTest, EndsTheProgramWhenAFailedValueIsRead) {
  EXPECT_DEATH((void)half(3).value(), "");
}

}  // namespace
}  // namespace sonde
