// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/json.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Json, WritesWhateverBytesAsAValidString) {
  for (const std::string_view text :
       {std::string_view("plain"), std::string_view("quote\" back\\slash"),
        std::string_view("tab\t nul\0 bell\a", 15), std::string_view("snow \xe2\x98\x83"),
        std::string_view("torn \xe2\x98"), std::string_view("\xff\xfe"),
        std::string_view("over-long \xc0\xaf"), std::string_view("surrogate \xed\xa0\x80")}) {
    EXPECT_TRUE(validate_json(json_string(text)).has_value()) << json_string(text);
  }
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"");
  EXPECT_EQ(json_string("\xff"), "\"\xef\xbf\xbd\"");
}

TEST(Json, AcceptsEveryKindOfValue) {
  for (const char* text : {"{}", "[]", " [1, 2.5, -0, 1e9, 1E-3]\n", "\"s\"", "true", "false",
                           "null", R"({"a": {"b": [null, "\u00e9\n"]}})"}) {
    EXPECT_TRUE(validate_json(text).has_value()) << text;
  }
}

TEST(Json, RefusesWhatIsNotOneValueAndSaysWhere) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\":}", "{a:1}", "01", "1.", "+1", "nul", "\"open", "\"\\x\"",
        "\"\\u12\"", "\"a\tb\"", "1 2", "[1 2]", "{\"a\" 1}", "NaN", "'a'", "\"\xff\""}) {
    const auto checked = validate_json(text);
    ASSERT_FALSE(checked.has_value()) << text;
    EXPECT_NE(checked.error().message.find("at byte"), std::string::npos);
  }
}

TEST(Json, RefusesNestingThatWouldExhaustTheStack) {
  EXPECT_FALSE(validate_json(std::string(10'000'000, '[')).has_value());
}

}  // namespace
}  // namespace sonde
