// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/json_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(JsonWalk, VisitsMembersAndSkipsWhatTheCallerDoesNotWant) {
  JsonWalk walk(R"( {"a": [1, {"b": null}], "ranks": [ 3, -4 ], "c": {}} )");
  std::vector<std::int64_t> ranks;
  const bool is_read = walk.object([&](std::string_view key) {
    if (key != "ranks") return walk.skip();
    return walk.array([&] {
      const auto number = walk.integer();
      if (number) ranks.push_back(*number);
      return number.has_value();
    });
  });
  EXPECT_TRUE(is_read);
  EXPECT_TRUE(walk.at_end());
  EXPECT_THAT(ranks, ElementsAre(3, -4));
}

TEST(JsonWalk, GivesAnyValueAsItIsWritten) {
  JsonWalk walk(R"({"a": [1, {"b": null}] , "c": "\u0061"})");
  std::string seen;
  EXPECT_TRUE(walk.object([&](std::string_view) {
    const auto value = walk.any();
    seen += value ? std::string(*value) + "; " : "";
    return value.has_value();
  }));
  EXPECT_EQ(seen, R"([1, {"b": null}]; "\u0061"; )");
  EXPECT_FALSE(JsonWalk("nonsense").any());
}

TEST(JsonWalk, DecodesStringsAndKeys) {
  JsonWalk walk(R"({"\u006bey": "\ud83d\ude00 \"\n"})");
  std::string found;
  EXPECT_TRUE(walk.object([&](std::string_view key) {
    EXPECT_EQ(key, "key");
    found = walk.string().value_or("");
    return true;
  }));
  EXPECT_EQ(found, "\xf0\x9f\x98\x80 \"\n");
}

TEST(JsonWalk, TakesNothingOfAnotherKind) {
  JsonWalk walk(R"(2.5)");
  EXPECT_FALSE(walk.string());
  EXPECT_FALSE(walk.integer());
  EXPECT_FALSE(walk.array([] { return true; }));
  EXPECT_FALSE(walk.object([](std::string_view) { return true; }));
  EXPECT_EQ(walk.number(), 2.5);
  EXPECT_TRUE(walk.at_end());
  EXPECT_FALSE(JsonWalk("9223372036854775808").integer());
  EXPECT_FALSE(JsonWalk("1e999").number());
}

TEST(JsonWalk, SaysWhatIsWrongAndWhere) {
  JsonWalk walk(R"([1, 2)");
  EXPECT_FALSE(walk.array([&] { return walk.integer().has_value(); }));
  EXPECT_THAT(walk.failure().error().message, HasSubstr("']' is missing at byte 5"));
}

}  // namespace
}  // namespace sonde
