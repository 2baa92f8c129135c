// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader learns from each event what the next ones look like. What it has learned may only make
// it faster: every event is read as if it were the first.
//
//   [{…}, {…}, {…}, {…}]      by one reader, which learns
//   [{…}|,{…}|,{…}|,{…}]      by readers that have seen hardly any

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "convert/json/json_bytes.h"
#include "convert/testing/read_in_parts.h"
#include "convert/testing/read_text.h"
#include "trace/testing/deep.h"

namespace sonde {
namespace {

using testing::dumped;
using testing::read;

// Valid JSON in which hardly anything is as expected: spaces, the order of keys, their values.
class Events {
 public:
  explicit Events(unsigned seed) : random_(seed) {}

  std::string document(int events) {
    std::string text = "[";
    for (int i = 0; i < events; ++i) text += (i > 0 ? "," : "") + space() + event();
    return text + space() + "]";
  }

 private:
  using Texts = std::initializer_list<const char*>;

  unsigned below(unsigned count) { return static_cast<unsigned>(random_() % count); }
  std::string one_of(Texts texts) {
    return texts.begin()[below(static_cast<unsigned>(texts.size()))];
  }
  std::string space() { return one_of({"", "", "", " ", "\n  ", "\t "}); }
  std::string any_value() {
    return one_of({"null", "true", "0", "-7", "1.5", "2e3", "\"\"", "\"x\"", "\"a\\\"b\"", "[]",
                   "[1, 2]", "[[1], []]", "{}", R"({"k": 1})", R"({"args": {}})", "4294967295"});
  }
  std::string number() { return std::to_string(below(9)); }
  std::string usual_or_not(const std::string& usual) {
    return below(10) == 0 ? any_value() : usual;
  }
  std::string member(const std::string& key, const std::string& value) {
    return space() + "\"" + key + "\"" + space() + ":" + space() + value + space();
  }
  std::string object(std::vector<std::string> members) {
    if (below(3) == 0) std::shuffle(members.begin(), members.end(), random_);
    std::string text = "{";
    for (std::size_t i = 0; i < members.size(); ++i) text += (i > 0 ? "," : "") + members[i];
    return text + (members.empty() ? space() : "") + "}";
  }

  std::string arguments() {
    std::vector<std::string> members;
    for (const char* key : {"External id", "correlation", "device", "stream", "bytes",
                            "Sequence number", "Fwd thread id", "Python id", "note"}) {
      if (below(4) == 0) members.push_back(member(key, usual_or_not(number())));
    }
    for (const char* key : {"Input Dims", "Input Strides", "Input type", "Concrete Inputs"}) {
      if (below(4) == 0)
        members.push_back(member(key, usual_or_not(one_of({"[[1, 2], []]", "[\"float\", \"\"]"}))));
    }
    if (below(4) == 0) members.push_back(member("grid", usual_or_not("[1, 2, 3]")));
    return object(members);
  }

  std::string event() {
    std::vector<std::string> members;
    const auto add = [&](const char* key, const std::string& value) {
      if (below(12) != 0) members.push_back(member(key, usual_or_not(value)));
    };
    add("ph", one_of({"\"X\"", "\"X\"", "\"X\"", "\"B\"", "\"E\"", "\"i\"", "\"C\"", "\"s\"",
                      "\"f\"", "\"M\""}));
    add("cat", one_of({"\"cpu_op\"", "\"kernel\"", "\"gpu_memcpy\"", "\"user_annotation\"",
                       "\"cuda_runtime\"", "\"ac2g\"", "\"other\""}));
    add("name", one_of({"\"aten::mm\"", "\"aten::add\"", "\"k<int>\"", "\"[memory]\"",
                        "\"process_name\"", "\"thread_name\""}));
    add("pid", number());
    add("tid", number());
    add("ts", number());
    add("dur", number());
    if (below(3) == 0) add("id", number());
    if (below(5) == 0) add("bp", "\"e\"");
    if (below(8) == 0) add("s", "\"t\"");
    if (below(8) == 0) add("odd", any_value());
    add("args", arguments());
    return object(members);
  }

  std::mt19937 random_;
};

TEST(LearnedEvents, AreReadAsIfTheyWereTheFirst) {
  for (unsigned seed = 0; seed < testing::deep_or(200U, 60U); ++seed) {
    const std::string text = Events(seed).document(30);
    const auto bytes = PaddedBytes::copy_of(text);
    ASSERT_TRUE(bytes);
    const auto apart = testing::read_in_parts(bytes->text(), {60, 2000, 64});
    ASSERT_TRUE(apart) << text;
    ASSERT_EQ(dumped(*apart), dumped(read(text))) << seed << ": " << text;
  }
}

}  // namespace
}  // namespace sonde
