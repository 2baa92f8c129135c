// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace sonde {
namespace {

TEST(Bytes, ReadsBackWhatWasWritten) {
  ByteWriter out;
  out.write<std::uint32_t>(7);
  for (const std::uint64_t v : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
                                std::numeric_limits<std::uint64_t>::max()}) {
    out.varint(v);
  }
  out.string("näme");
  ByteReader in(out.bytes());
  EXPECT_EQ(in.read<std::uint32_t>(), 7u);
  EXPECT_EQ(in.varint(), 0u);
  EXPECT_EQ(in.varint(), 127u);
  EXPECT_EQ(in.varint(), 128u);
  EXPECT_EQ(in.varint(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(in.string(), "näme");
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
}

TEST(Bytes, StaysFailedOnceSomethingDidNotFit) {
  const std::uint8_t three[] = {1, 2, 3};
  ByteReader in(three, sizeof(three));
  EXPECT_EQ(in.read<std::uint32_t>(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.read<std::uint8_t>(), 0u);
  EXPECT_EQ(in.varint(), 0u);
  EXPECT_TRUE(in.bytes(1).empty());
}

TEST(Bytes, RefusesAVarintWithoutEnd) {
  const std::vector<std::uint8_t> endless(11, 0xff);
  ByteReader in(endless);
  in.varint();
  EXPECT_FALSE(in.ok());
}

TEST(Bytes, RefusesAStringLongerThanTheInput) {
  ByteWriter out;
  out.varint(std::numeric_limits<std::uint64_t>::max());
  ByteReader in(out.bytes());
  EXPECT_TRUE(in.string().empty());
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace sonde
