// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/text_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "convert/kineto/write/span_join.h"

namespace sonde {
namespace {

template <typename Put>
std::string text_of(const Put& put_it) {
  std::array<char, 128> text{};
  return {text.data(), put_it(text.data())};
}

TEST(KinetoWriteText, WritesIntegersOfEveryLength) {
  std::vector<std::uint64_t> values = {0, std::numeric_limits<std::uint64_t>::max()};
  for (std::uint64_t power = 1; power <= 1'000'000'000'000'000'000; power *= 10) {
    values.insert(values.end(), {power - 1, power, power + 1, 7 * power});
    if (power == 1'000'000'000'000'000'000) break;
  }
  for (unsigned bit = 0; bit < 64; ++bit) values.push_back(std::uint64_t{1} << bit);
  for (const std::uint64_t value : values) {
    EXPECT_EQ(text_of([&](char* at) { return put_unsigned(at, value); }), std::to_string(value));
    const auto number = static_cast<std::int64_t>(value);
    EXPECT_EQ(text_of([&](char* at) { return put_integer(at, number); }), std::to_string(number));
  }
}

TEST(KinetoWriteText, WritesMicrosecondsWithThreeDecimals) {
  const auto micros = [](std::int64_t nanos) {
    return text_of([&](char* at) { return put_micros(at, nanos); });
  };
  EXPECT_EQ(micros(0), "0.000");
  EXPECT_EQ(micros(7), "0.007");
  EXPECT_EQ(micros(1234567), "1234.567");
  EXPECT_EQ(micros(-1), "-0.001");
  EXPECT_EQ(micros(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

TEST(KinetoWriteText, WritesTimesThatFollowEachOtherLikeSingleOnes) {
  MicrosText times;
  for (const std::int64_t nanos :
       {std::int64_t{0}, std::int64_t{999'999'999}, std::int64_t{1'000'000'000},
        std::int64_t{1'000'000'001}, std::int64_t{3'848'419'624'188'359},
        std::int64_t{3'848'419'999'999'999}, std::int64_t{3'848'420'000'000'000}, std::int64_t{-5},
        std::int64_t{1'999'999'999}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(text_of([&](char* at) { return times.put(at, nanos); }),
              text_of([&](char* at) { return put_micros(at, nanos); }));
  }
}

TEST(KinetoWriteText, CopiesTextsOfEveryLength) {
  std::string source;
  for (int i = 0; i < 100; ++i) source.push_back(static_cast<char>('!' + i % 90));
  for (std::size_t size = 0; size <= 100; ++size) {
    const std::string_view text = std::string_view(source).substr(0, size);
    EXPECT_EQ(text_of([&](char* at) { return put(at, text); }), text);
  }
}

TEST(KinetoWriteText, NumbersThatJsonLacksAreStrings) {
  const auto number = [](double value) {
    return text_of([&](char* at) { return put_double(at, value); });
  };
  EXPECT_EQ(number(0.5), "0.5");
  EXPECT_EQ(number(47), "47");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "\"inf\"");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
}

// The rows of each span from `first` on, as the walk finds them.
std::vector<std::vector<std::uint32_t>> rows_by_span(const std::vector<SpanId>& column,
                                                     std::uint32_t first, std::uint32_t spans) {
  const SpanJoin join(column.data(), column.size());
  SpanJoin::Cursor cursor(join, SpanId(first));
  std::vector<std::vector<std::uint32_t>> rows;
  for (std::uint32_t span = first; span < spans; ++span) {
    rows.emplace_back();
    while (cursor.has(SpanId(span))) rows.back().push_back(cursor.take());
  }
  return rows;
}

TEST(SpanJoin, FindsTheRowsOfEachSpanWhateverTheirOrder) {
  const SpanId none;
  using Rows = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(rows_by_span({SpanId(0), SpanId(2), SpanId(2), none}, 0, 3), (Rows{{0}, {}, {1, 2}}));
  EXPECT_EQ(rows_by_span({SpanId(2), none, SpanId(0), SpanId(2)}, 0, 3), (Rows{{2}, {}, {0, 3}}));
  EXPECT_EQ(rows_by_span({SpanId(5000), SpanId(3), SpanId(4999)}, 4999, 5001), (Rows{{2}, {0}}));
  EXPECT_EQ(rows_by_span({}, 0, 1), (Rows{{}}));
}

}  // namespace
}  // namespace sonde
