// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/format.h"

namespace sonde {
namespace {

TEST(Text, MicrosecondsAreExact) {
  EXPECT_EQ(microseconds_text(0), "0.000");
  EXPECT_EQ(microseconds_text(1), "0.001");
  EXPECT_EQ(microseconds_text(-1'234), "-1.234");
  EXPECT_EQ(microseconds_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

TEST(Text, PicksTheUnitThatReadsBest) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'234), "1.234 µs");
  EXPECT_EQ(duration_text(56'700'000), "56.700 ms");
  EXPECT_EQ(duration_text(-3'250'000'000), "-3.250 s");
  EXPECT_EQ(rough_duration_text(0), "0 ns");
  EXPECT_EQ(rough_duration_text(814), "810 ns");
  EXPECT_EQ(rough_duration_text(1'250), "1.3 µs");
  EXPECT_EQ(rough_duration_text(999'600), "1.0 ms");
  EXPECT_EQ(rough_duration_text(46'643'000), "47 ms");
  EXPECT_EQ(rough_duration_text(-123'456'000'000), "-120 s");
  EXPECT_EQ(duration_text(std::numeric_limits<std::int64_t>::min()), "-9223372036.855 s");
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(256ull << 20), "256 MiB");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(12'345'678), "12,345,678");
  EXPECT_EQ(counted_text(0, "span"), "0 spans");
  EXPECT_EQ(counted_text(1, "span"), "1 span");
  EXPECT_EQ(counted_text(12'345, "span"), "12,345 spans");
}

TEST(Text, OfANameHasNoAddresses) {
  EXPECT_EQ(without_addresses("<method f of T object at 0x7f10a0>"), "<method f of T object>");
  EXPECT_EQ(without_addresses("a at 0x1, b at 0xFF; c"), "a, b; c");
  EXPECT_EQ(without_addresses("at 0x at 0x"), "at 0x");
  EXPECT_EQ(without_addresses("aten::mm"), "aten::mm");
}

TEST(Text, IsMadeFromPatterns) {
  EXPECT_EQ(format_text("{} of {}, {:.1f} %", 3, std::string("8"), 37.5), "3 of 8, 37.5 %");
  EXPECT_EQ(format_text("{{}}"), "{}");
  std::string out = "a";
  append_formatted(out, "{:>4}|{:<{}}|", 7, "b", 3);
  EXPECT_EQ(out, "a   7|b  |");
}

}  // namespace
}  // namespace sonde
