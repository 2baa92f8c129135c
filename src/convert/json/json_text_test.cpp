// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/json/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json_string.h"
#include "convert/json/json_bytes.h"
#include "convert/json/json_number.h"

namespace sonde {
namespace {

// Where the value at the beginning of `text` ends; -1 if it has no end.
std::ptrdiff_t end_of(std::string_view text) {
  const Result<PaddedBytes> bytes = PaddedBytes::copy_of(text);
  const char* begin = bytes->text().data();
  const char* failed_at = nullptr;
  const char* end = value_end(begin, begin + text.size(), &failed_at);
  return end == nullptr ? -1 : end - begin;
}

TEST(JsonText, FindsTheEndOfValues) {
  EXPECT_EQ(end_of(R"("a\"b\\" x)"), 8);
  EXPECT_EQ(end_of(R"([1, "]", {"}": [2]}], 3)"), 20);
  EXPECT_EQ(end_of("-12.5e3,"), 7);
  EXPECT_EQ(end_of("\"open"), -1);
  EXPECT_EQ(end_of("[[1]"), -1);
  EXPECT_EQ(end_of("\"\\\""), -1);
  EXPECT_EQ(end_of(""), -1);
}

TEST(JsonText, FindsTheEndOfStringsOfAnyLength) {
  for (std::size_t size = 0; size < 70; ++size) {
    const std::string text = "[\"" + std::string(size, 'x') + "\", \"\\\"]\"]";
    EXPECT_EQ(end_of(text), static_cast<std::ptrdiff_t>(text.size()));
  }
}

TEST(JsonText, RefusesWhatIsNestedTooDeep) {
  const std::string deep(kJsonDepth, '[');
  EXPECT_EQ(end_of(deep + std::string(kJsonDepth, ']')), 2 * kJsonDepth);
  EXPECT_EQ(end_of("[" + deep + std::string(kJsonDepth + 1, ']')), -1);
}

std::int64_t nanos_of(std::string_view text) {
  std::int64_t nanos = -1;
  return micros_to_nanos(text, nanos) ? nanos : -1;
}

TEST(JsonNumber, ReadsMicrosecondsExactly) {
  EXPECT_EQ(nanos_of("3848419624188.359"), 3848419624188359);
  EXPECT_EQ(nanos_of("9223372036854775.807"), 9223372036854775807);
  EXPECT_EQ(nanos_of("9223372036854775.808"), -1);
  EXPECT_EQ(nanos_of("0.0005"), 1);
  EXPECT_EQ(nanos_of("0.0004999"), 0);
  EXPECT_EQ(nanos_of("1.5e3"), 1500000);
  EXPECT_EQ(nanos_of("15e-4"), 2);
  EXPECT_EQ(nanos_of("0e999999"), 0);
  EXPECT_EQ(nanos_of("1e999999999999"), -1);
  EXPECT_EQ(nanos_of("-3"), -3000);
  for (const char* none : {"NaN", "null", "", "-", ".", "1.2.3", "0x10", "1e", "Infinity"}) {
    EXPECT_EQ(nanos_of(none), -1) << none;
  }
}

TEST(JsonNumber, ScansIntegersOfAnyLength) {
  std::string digits;
  for (int i = 0; i < 22; ++i) {
    digits += static_cast<char>('1' + i % 9);
    for (const std::string& sign : {std::string(), std::string("-")}) {
      const Result<PaddedBytes> bytes = PaddedBytes::copy_of(sign + digits + ", 7");
      const JsonInteger number = scan_integer(bytes->text().data());
      EXPECT_EQ(number.end - bytes->text().data(),
                static_cast<std::ptrdiff_t>(sign.size() + digits.size()));
      ASSERT_EQ(number.is_integer, digits.size() <= 18) << digits;
      if (number.is_integer) {
        EXPECT_EQ(std::to_string(number.value), sign + digits);
      }
    }
  }
}

TEST(JsonNumber, ScansTimesLikeItReadsThem) {
  for (const char* text : {"1.000", "12345678.901", "123456789012345.678", "5", "5.5", "1.2345",
                           "1.123e2", "12345678901234.567", "999.999}"}) {
    const Result<PaddedBytes> bytes = PaddedBytes::copy_of(text);
    const char* begin = bytes->text().data();
    std::int64_t nanos = 0;
    bool valid = false;
    const char* end = scan_micros(begin, begin + bytes->text().size(), nanos, valid);
    ASSERT_NE(end, nullptr);
    EXPECT_TRUE(valid);
    EXPECT_EQ(nanos, nanos_of({begin, static_cast<std::size_t>(end - begin)})) << text;
  }
}

TEST(JsonString, DecodesEscapesAndMendsTheRest) {
  EXPECT_EQ(decode_json_string(R"(a\n\t\"\\\/\u00e9\ud83d\ude00)"), "a\n\t\"\\/\u00e9\U0001F600");
  EXPECT_EQ(decode_json_string(R"(C:\Users\x)"), "C:\\Users\\x");
  EXPECT_EQ(decode_json_string("\\"), "\\");
  EXPECT_EQ(decode_json_string("\\u12"), "\\u12");
  EXPECT_EQ(decode_json_string("\xC3\x28\xED\xA0\x80"),
            "\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JsonString, FindsTheFirstByteThatMayNotStandInAString) {
  constexpr std::size_t kNone = std::string_view::npos;
  EXPECT_EQ(json_string_fault(R"(plain \" \\ \n \u00e9 \ud83d\ude00 /)"), kNone);
  EXPECT_EQ(json_string_fault("\xc3\xa9 \xf0\x9f\x94\xa5 \x7f"), kNone);
  EXPECT_EQ(json_string_fault("ab\ncd\x01"), 2U);
  EXPECT_EQ(json_string_fault("ab\xc3"), 2U);
  EXPECT_EQ(json_string_fault(R"(C:\dir)"), 2U);
  EXPECT_EQ(json_string_fault(R"(a \u12 b)"), 2U);
  EXPECT_EQ(json_string_fault(R"(\ud83d x)"), 0U);
  EXPECT_EQ(json_string_fault("ends with \\"), 10U);
}

TEST(JsonString, MakesAnythingValidJson) {
  EXPECT_EQ(valid_json("[1, 2]"), "[1, 2]");
  EXPECT_EQ(valid_json("[1, NaN]"), "\"[1, NaN]\"");
  EXPECT_EQ(valid_json("\"a\nb\""), "\"a\\nb\"");
}

}  // namespace
}  // namespace sonde
