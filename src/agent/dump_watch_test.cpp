// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/dump_watch.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr DumpRules kRules = {
    .slow_step_percent = 300, .hang_ns = 1000 * kMs, .signal = 12, .most = 3, .ring_ns = 500 * kMs};

class DumpWatchTest : public ::testing::Test {
 protected:
  // Steps of so many milliseconds each; whether the last one is a reason.
  bool steps(int count, std::int64_t ms) {
    bool is_reason = false;
    for (int i = 0; i < count; ++i) {
      now_ += ms * kMs;
      is_reason = watch_.step_ended(step_++, now_);
    }
    return is_reason;
  }

  DumpWatch watch_{kRules};
  std::int64_t now_ = 1000 * kMs;
  std::int64_t step_ = 0;
};

TEST_F(DumpWatchTest, AStepThatTakesThreeTimesTheUsualTimeIsSlow) {
  EXPECT_FALSE(steps(20, 10));
  EXPECT_FALSE(steps(1, 29));
  EXPECT_TRUE(steps(1, 30));
  const auto dump = watch_.due(now_);
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->json,
            R"({"reason": "slow-step", "step": 21, "took_ns": 30000000, "usual_ns": 10000000, )"
            R"("number": 1})");
  EXPECT_GE(dump->at_least_ns, 30 * kMs);
  EXPECT_FALSE(watch_.due(now_));
}

TEST_F(DumpWatchTest, TheFirstStepsSayNothing) {
  EXPECT_FALSE(steps(1, 1));
  EXPECT_FALSE(steps(1, 500));
  EXPECT_FALSE(steps(6, 10));
  EXPECT_FALSE(steps(1, 90));
}

TEST_F(DumpWatchTest, StepsThatStayLongerBecomeTheUsual) {
  steps(64, 10);
  EXPECT_TRUE(steps(1, 40));
  EXPECT_TRUE(watch_.due(now_));
  EXPECT_FALSE(steps(64, 40));
  EXPECT_FALSE(steps(1, 40));
}

TEST_F(DumpWatchTest, SlowStepsSoonAfterADumpAreInTheNextRing) {
  steps(20, 10);
  EXPECT_TRUE(steps(1, 40));
  EXPECT_TRUE(watch_.due(now_));
  EXPECT_FALSE(steps(1, 40));
  steps(50, 10);
  EXPECT_TRUE(steps(1, 40));
}

TEST_F(DumpWatchTest, WritesNoMoreThanItMay) {
  for (int i = 0; i < 3; ++i) {
    watch_.signal_came();
    EXPECT_TRUE(watch_.due(now_)) << i;
  }
  EXPECT_FALSE(watch_.has_refused());
  watch_.signal_came();
  EXPECT_FALSE(watch_.due(now_));
  EXPECT_TRUE(watch_.has_refused());
}

TEST_F(DumpWatchTest, AStepThatDoesNotEndIsToldOnce) {
  EXPECT_FALSE(watch_.due(now_ + 5000 * kMs));  // it has no steps
  steps(3, 10);
  EXPECT_EQ(watch_.wait_ns(now_ + 400 * kMs), 600 * kMs);
  EXPECT_FALSE(watch_.due(now_ + 999 * kMs));
  const auto dump = watch_.due(now_ + 1000 * kMs);
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->json, R"({"reason": "hang", "step": 3, "since_ns": 1000000000, "number": 1})");
  EXPECT_FALSE(watch_.due(now_ + 2000 * kMs));
  EXPECT_EQ(watch_.wait_ns(now_ + 2000 * kMs), -1);
}

TEST_F(DumpWatchTest, TimeInWhichNothingWasRecordedIsNoStep) {
  steps(20, 10);
  watch_.stopped();
  now_ += 1000 * kMs;
  EXPECT_FALSE(watch_.due(now_));
  EXPECT_FALSE(steps(1, 500));
}

}  // namespace
}  // namespace sonde
