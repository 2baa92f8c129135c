// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "profiler/testing/fake_session.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The actions of the first `steps` steps as letters: None, Warmup, Record, recordandSave.
std::string letters(const Schedule& schedule, int steps) {
  std::string text;
  for (int step = 0; step < steps; ++step) text += "NWRSD"[static_cast<int>(schedule(step))];
  return text;
}

TEST(Schedule, RepeatsItsCycleForEver) {
  EXPECT_EQ(letters(schedule({.wait = 1, .warmup = 1, .active = 2}), 12), "NWRSNWRSNWRS");
}

TEST(Schedule, SkipsStepsOnceAndEndsAfterItsRepeats) {
  const Schedule plan =
      schedule({.wait = 2, .warmup = 1, .active = 4, .repeat = 2, .skip_first = 3});
  EXPECT_EQ(letters(plan, 21),
            "NNN"
            "NNWRRRS"
            "NNWRRRS"
            "NNNN");
}

TEST(Schedule, LeavesOutTheFirstWaitAndStillRepeatsAsOften) {
  const Schedule plan = schedule(
      {.wait = 5, .warmup = 1, .active = 2, .repeat = 2, .skip_first = 3, .skip_first_wait = 1});
  EXPECT_EQ(letters(plan, 18),
            "NNN"
            "WRS"
            "NNNNNWRS"
            "NNNN");
}

TEST(Schedule, NeverGivesRecordForOneActiveStep) {
  EXPECT_EQ(letters(schedule({.warmup = 1, .active = 1}), 6), "WSWSWS");
}

TEST(Schedule, RecordsAlwaysByDefault) {
  const Schedule plan;
  EXPECT_FALSE(plan.given());
  EXPECT_EQ(letters(plan, 4), "RRRR");
}

TEST(Schedule, GivesNoneForNegativeSteps) {
  EXPECT_EQ(schedule({.warmup = 1, .active = 1})(-1), ProfilerAction::None);
}

TEST(Schedule, DoesNotOverflowAtTheLastStep) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  const Schedule plan =
      schedule({.wait = kLast - 2, .warmup = 1, .active = 1, .skip_first_wait = 1});
  EXPECT_EQ(plan(1), ProfilerAction::RecordAndSave);
  EXPECT_EQ(plan(kLast), ProfilerAction::Warmup);  // one whole cycle after step 0
}

TEST(Schedule, TakesACallable) {
  const Schedule plan = [](std::int64_t step) {
    return step % 2 == 0 ? ProfilerAction::None : ProfilerAction::RecordAndSave;
  };
  EXPECT_TRUE(plan.given());
  EXPECT_EQ(letters(plan, 4), "NSNS");
}

TEST(Schedule, IsNotGivenByAnEmptyFunction) {
  const Schedule plan = std::function<ProfilerAction(std::int64_t)>();
  EXPECT_FALSE(plan.given());
}

TEST(Schedule, WarnsWhereThereIsNoWarmup) {
  testing::CapturedMessages messages;
  EXPECT_TRUE(schedule({.wait = 1, .active = 1}).status());
  EXPECT_THAT(messages.take(), ElementsAre(HasSubstr("won't be using warmup")));
}

TEST(Schedule, SaysNothingWhereThereIsWarmup) {
  testing::CapturedMessages messages;
  EXPECT_TRUE(schedule({.wait = 1, .warmup = 1, .active = 1}).status());
  EXPECT_THAT(messages.take(), IsEmpty());
}

class ImpossibleSchedule : public ::testing::TestWithParam<ScheduleOptions> {};

TEST_P(ImpossibleSchedule, IsAnErrorThatListsItsValues) {
  const Schedule plan = schedule(GetParam());
  ASSERT_FALSE(plan.status());
  EXPECT_EQ(plan.status().error().code, ErrorCode::Invalid);
  EXPECT_THAT(plan.status().error().message,
              HasSubstr("wait=" + std::to_string(GetParam().wait) +
                        ", warmup=" + std::to_string(GetParam().warmup) +
                        ", active=" + std::to_string(GetParam().active) +
                        ", repeat=" + std::to_string(GetParam().repeat) +
                        ", skip_first=" + std::to_string(GetParam().skip_first)));
  EXPECT_EQ(plan(0), ProfilerAction::None);
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
INSTANTIATE_TEST_SUITE_P(
    Values, ImpossibleSchedule,
    ::testing::Values(ScheduleOptions{.wait = -1, .warmup = 1, .active = 1},
                      ScheduleOptions{.warmup = -1, .active = 1},
                      ScheduleOptions{.warmup = 1, .active = 0},
                      ScheduleOptions{.warmup = 1, .active = -1},
                      ScheduleOptions{.warmup = 1, .active = 1, .repeat = -1},
                      ScheduleOptions{.warmup = 1, .active = 1, .skip_first = -1},
                      ScheduleOptions{.wait = kHuge, .warmup = 1, .active = 1}));

}  // namespace
}  // namespace sonde
