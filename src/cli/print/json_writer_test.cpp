// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "cli/testing/printed.h"

namespace sonde::cli {
namespace {

std::string json_of(const std::function<void(JsonWriter&)>& write) {
  return printed([&](Output& out) {
    JsonWriter json(out);
    write(json);
  });
}

TEST(JsonWriter, IndentsAndSeparates) {
  EXPECT_EQ(json_of([](JsonWriter& json) {
              json.begin_object();
              json.key("a").value(1);
              json.key("b").begin_array();
              json.value("x");
              json.value(true);
              json.end_array();
              json.key("c").null();
              json.end_object();
            }),
            "{\n  \"a\": 1,\n  \"b\": [\n    \"x\",\n    true\n  ],\n  \"c\": null\n}");
}

TEST(JsonWriter, WritesEmptyContainersOnOneLine) {
  EXPECT_EQ(json_of([](JsonWriter& json) {
              json.begin_object();
              json.key("a").begin_array();
              json.end_array();
              json.key("b").begin_object();
              json.end_object();
              json.end_object();
            }),
            "{\n  \"a\": [],\n  \"b\": {}\n}");
}

TEST(JsonWriter, KeepsTheLargestNumbersExact) {
  EXPECT_EQ(
      json_of([](JsonWriter& json) { json.value(std::numeric_limits<std::uint64_t>::max()); }),
      "18446744073709551615");
  EXPECT_EQ(json_of([](JsonWriter& json) { json.value(std::numeric_limits<std::int64_t>::min()); }),
            "-9223372036854775808");
}

TEST(JsonWriter, IsValidForAnyBytesInKeysAndValues) {
  const std::string hostile("\"\\\n\0\xff\xc3", 6);
  const std::string text = json_of([&](JsonWriter& json) {
    json.begin_object();
    json.key(hostile).value(hostile);
    json.end_object();
  });
  EXPECT_TRUE(validate_json(text)) << text;
}

TEST(JsonWriter, EmbedsJsonAndQuotesWhatIsNot) {
  EXPECT_EQ(json_of([](JsonWriter& json) { json.embed("{\"a\": [1]}"); }), "{\"a\": [1]}");
  EXPECT_EQ(json_of([](JsonWriter& json) { json.embed("{broken"); }), "\"{broken\"");
}

}  // namespace
}  // namespace sonde::cli
