// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <string>

#include "sonde/trace/strings.h"

namespace sonde {
namespace {

TEST(StringPool, GivesTheSameTextTheSameId) {
  StringPool pool;
  const StringId conv = pool.intern("conv2d");
  const StringId step = pool.intern("step");
  EXPECT_NE(conv, step);
  EXPECT_EQ(pool.intern("conv2d"), conv);
  EXPECT_EQ(pool[step], "step");
  EXPECT_EQ(pool.size(), 2u);
}

TEST(StringPool, HoldsManyStringsApart) {
  StringPool pool;
  for (int i = 0; i < 10'000; ++i) pool.intern(std::to_string(i));
  ASSERT_EQ(pool.size(), 10'000u);
  EXPECT_EQ(pool.intern("1234"), StringId(1234));
  EXPECT_EQ(pool[StringId(9999)], "9999");
}

TEST(StringPool, KeepsTheEmptyStringAndBytesOfAllKinds) {
  StringPool pool;
  const std::string zeros("a\0b", 3);
  EXPECT_EQ(pool[pool.intern("")], "");
  EXPECT_EQ(pool[pool.intern(zeros)], zeros);
  EXPECT_EQ(pool.intern(zeros), StringId(1));
}

TEST(StringPool, ReadsInvalidIdsAsEmpty) {
  StringPool pool;
  pool.intern("a");
  EXPECT_EQ(pool[StringId()], "");
  EXPECT_EQ(pool[StringId(7)], "");
}

TEST(StringPool, FindsStringsThatWereAddedUnseen) {
  StringPool pool;
  const StringId added = pool.add("a");
  EXPECT_EQ(pool.intern("a"), added);
}

TEST(StringPool, InternsAPartOfItself) {
  StringPool pool;
  StringId id = pool.intern("abcdefgh");
  for (int i = 0; i < 7; ++i) id = pool.intern(pool[id].substr(1));
  EXPECT_EQ(pool[id], "h");
}

}  // namespace
}  // namespace sonde
