// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace sonde {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Versions "v0", "v1", … with these figures, one run each.
std::vector<HistoryValue> history_of(const std::string& metric, const std::vector<double>& values) {
  std::vector<HistoryValue> history;
  for (std::size_t i = 0; i < values.size(); ++i)
    history.push_back({"v" + std::to_string(i), "run", 0, metric, values[i]});
  return history;
}

std::vector<double> noisy(std::size_t count, double level, double spread, std::mt19937& random) {
  std::normal_distribution<double> noise(0, spread);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(level * std::exp(noise(random)));
  return values;
}

TEST(History, IsReadBackAsItWasWritten) {
  RunSummary run;
  run.name = "a \"run\"\n\\";
  run.started_ns = 1'760'000'000'000'000'001;
  run.step_median_ns = 1234.4;
  run.exact["kernels"] = 42;
  const std::vector<HistoryValue> values = history_values({run}, "3f2a");
  const Result<std::vector<HistoryValue>> read = parse_history(history_text(values));
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0].run, run.name);
  EXPECT_EQ((*read)[0].started_ns, run.started_ns);
  EXPECT_EQ((*read)[0].value, 1234);
  EXPECT_EQ((*read)[1].metric, "kernels");
  EXPECT_EQ((*read)[1].value, 42);
}

TEST(History, SkipsKeysOfOthersAndSaysWhichLineIsWrong) {
  const Result<std::vector<HistoryValue>> read = parse_history(
      "{\"branch\": \"main\", \"n\": 3, \"labels\": {\"gpu\": [\"h200\", null]}, \"commit\": "
      "\"a\", \"metric\": \"step_ns\", \"value\": "
      "1.5e6}\n\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().value, 1.5e6);
  for (const char* const wrong : {"{", "[]", "nonsense", "{\"commit\": \"a\"}",
                                  "{\"commit\": \"a\", \"metric\": \"m\", \"value\": \"x\"}",
                                  "{\"commit\": \"a\", \"metric\": \"m\", \"value\": nan}",
                                  "{\"commit\": \"a\", \"metric\": \"m\", \"value\": 1} 2"}) {
    const Result<std::vector<HistoryValue>> failed = parse_history("\n" + std::string(wrong));
    ASSERT_FALSE(failed) << wrong;
    EXPECT_THAT(failed.error().message, HasSubstr("line 2")) << wrong;
  }
}

TEST(History, AnExactFigureChangesWithTheVersionThatChangesIt) {
  const std::vector<ChangePoint> changes =
      change_points(history_of("kernels", {142, 142, 156, 156, 142}));
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].commit, "v2");
  EXPECT_EQ(changes[0].before, 142);
  EXPECT_EQ(changes[0].after, 156);
  EXPECT_EQ(changes[1].commit, "v4");
}

TEST(History, FindsWhereATimeChangedAndByHowMuch) {
  std::mt19937 random(1);
  std::vector<double> values = noisy(20, 1e6, 0.01, random);
  const std::vector<double> later = noisy(15, 1.1e6, 0.01, random);
  values.insert(values.end(), later.begin(), later.end());
  const std::vector<ChangePoint> changes = change_points(history_of("step_ns", values));
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].commit, "v20");
  EXPECT_NEAR(changes[0].change, 0.1, 0.02);
  EXPECT_LT(changes[0].low, 0.1);
  EXPECT_GT(changes[0].high, 0.1);
}

TEST(History, ASingleSlowVersionIsNoChange) {
  std::mt19937 random(2);
  std::vector<double> values = noisy(30, 1e6, 0.01, random);
  values[12] *= 1.5;
  EXPECT_THAT(change_points(history_of("step_ns", values)), SizeIs(0));
}

TEST(History, UnchangedTimesSeldomHaveChanges) {
  std::mt19937 random(3);
  int found = 0;
  constexpr int kSeries = 300;
  for (int i = 0; i < kSeries; ++i)
    found += change_points(history_of("step_ns", noisy(40, 1e6, 0.15, random))).empty() ? 0 : 1;
  EXPECT_LE(found, kSeries * 2 / 100);
}

TEST(History, TooFewVersionsHaveNoChangesOfTime) {
  EXPECT_THAT(change_points(history_of("step_ns", {1, 1, 2, 2, 2})), SizeIs(0));
  EXPECT_THAT(change_points({}), SizeIs(0));
  EXPECT_THAT(change_points(history_of("step_ns", {0, 0, 0, 0, 0, 0, 0})), SizeIs(0));
}

}  // namespace
}  // namespace sonde
