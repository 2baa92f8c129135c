// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The profiler over a fake session: which calls it makes, in which order, and what it says.
#include "sonde/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "profiler/testing/profiler_calls.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::letters;
using testing::ProfilerCalls;

struct Pair {
  const char* schedule;  // from and to, and the actions that lead there
  const char* calls;
  const char* warning = "";
};

class ProfilerPairs : public ProfilerCalls, public ::testing::WithParamInterface<Pair> {};

TEST_P(ProfilerPairs, CallsTheSessionAsTheTableSays) {
  const std::string schedule = GetParam().schedule;
  Profiler prof = profiler(schedule);
  prof.start();
  for (std::size_t step = 1; step + 1 < schedule.size(); ++step) prof.step();
  log_->take();
  prof.step();
  EXPECT_EQ(log_->take(), GetParam().calls);
  const auto said = messages_.take();
  EXPECT_EQ(said.empty() ? "" : said.back(), GetParam().warning);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProfilerPairs,
    ::testing::Values(
        Pair{"NN", ""}, Pair{"NW", "prepare, open run.sonde"},
        Pair{"NR", "prepare, open run.sonde, begin 1"},
        Pair{"NS", "prepare, open run.sonde, begin 1"},
        Pair{"WN", "begin 1, end", "warning: Incorrect schedule: WARMUP followed by NONE"},
        Pair{"WW", ""}, Pair{"WR", "begin 1"}, Pair{"WS", "begin 1"},
        Pair{"RN", "end", "warning: Incorrect schedule: RECORD followed by NONE"},
        Pair{"RW", "end", "warning: Incorrect schedule: RECORD followed by WARMUP"}, Pair{"RR", ""},
        Pair{"RS", ""}, Pair{"SN", "end, ready"}, Pair{"SW", "end, ready, prepare"},
        Pair{"SR", "end, ready, prepare, begin 1"}, Pair{"SS", "end, ready, prepare, begin 1"},
        // A cycle that was stopped but not prepared again starts all the same.
        Pair{"RWR", "begin 2", "warning: Incorrect schedule: RECORD followed by WARMUP"}));

class DeviceStoppedPairs : public ProfilerCalls, public ::testing::WithParamInterface<Pair> {};

// The device stops in the first step. Checks the last step of the schedule.
TEST_P(DeviceStoppedPairs, CallsTheSessionAsTheTableSays) {
  const std::string schedule = GetParam().schedule;
  Profiler prof = profiler(schedule);
  prof.start();
  device_stopped_ = true;
  for (std::size_t step = 1; step + 1 < schedule.size(); ++step) prof.step();
  log_->take();
  prof.step();
  EXPECT_EQ(log_->take(), GetParam().calls);
}

INSTANTIATE_TEST_SUITE_P(Table, DeviceStoppedPairs,
                         ::testing::Values(Pair{"WR", "begin 1, end, ready"},
                                           Pair{"RR", "end, ready"}, Pair{"RS", "end, ready"},
                                           Pair{"SR", "end, ready, prepare, begin 1"},
                                           Pair{"RRR", ""}, Pair{"RRN", ""}, Pair{"RSN", ""},
                                           Pair{"RSW", "prepare"}, Pair{"RSR", "prepare, begin 2"},
                                           Pair{"RSS", "prepare, begin 2"}));

class ProfilerExits : public ProfilerCalls, public ::testing::WithParamInterface<Pair> {};

TEST_P(ProfilerExits, CallsTheSessionAsTheTableSays) {
  Profiler prof = profiler(GetParam().schedule);
  prof.start();
  log_->take();
  prof.stop();
  EXPECT_EQ(log_->take(), GetParam().calls);
}

INSTANTIATE_TEST_SUITE_P(Table, ProfilerExits,
                         ::testing::Values(Pair{"N", ""}, Pair{"W", "begin 0, end"},
                                           Pair{"R", "end, ready"}, Pair{"S", "end, ready"}));

TEST_F(ProfilerCalls, NothingHappensAtTheExitOfAStoppedDevice) {
  Profiler prof = profiler("RRR");
  prof.start();
  device_stopped_ = true;
  prof.step();
  EXPECT_EQ(prof.current_action(), ProfilerAction::DeviceStopped);
  log_->take();
  prof.stop();
  EXPECT_EQ(log_->take(), "");
  EXPECT_EQ(prof.current_action(), ProfilerAction::Record);
}

TEST_F(ProfilerCalls, TheStepWhereTheDeviceStoppedIsNamed) {
  Profiler prof = profiler("RRR");
  prof.start();
  prof.step();
  device_stopped_ = true;
  prof.step();
  EXPECT_THAT(messages_.take(), ElementsAre(HasSubstr("before step 2")));
}

TEST_F(ProfilerCalls, NoDeviceIsAskedWhereOnlyTheCpuIsRecorded) {
  ProfilerOptions only_cpu = options(letters("RR"));
  only_cpu.record.activities = {Activity::Cpu};
  Profiler prof = profiler(std::move(only_cpu));
  prof.start();
  device_stopped_ = true;
  prof.step();
  EXPECT_EQ(prof.current_action(), ProfilerAction::Record);
}

TEST_F(ProfilerCalls, AScheduleIsFollowedToItsEnd) {
  Profiler prof = profiler(
      options(schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 2, .skip_first = 1})));
  prof.start();
  for (int step = 0; step < 12; ++step) prof.step();
  prof.stop();
  EXPECT_EQ(log_->take(),
            "prepare, open run.sonde, begin 3, end, ready, prepare, begin 7, end, ready");
}

TEST_F(ProfilerCalls, WithoutAScheduleEverythingIsOneCycle) {
  Profiler prof = profiler(options({}));
  prof.start();
  for (int step = 0; step < 5; ++step) prof.step();
  prof.stop();
  EXPECT_EQ(log_->take(), "prepare, open run.sonde, begin 0, end, ready");
  EXPECT_EQ(prof.step_num(), 5);
}

TEST_F(ProfilerCalls, ARestartGoesOnWhereTheScheduleStood) {
  Profiler prof = profiler("NRRR");
  prof.start();
  prof.step();
  prof.stop();
  log_->take();
  prof.start();
  EXPECT_EQ(log_->take(), "prepare, begin 1");
  EXPECT_EQ(prof.step_num(), 1);
}

TEST_F(ProfilerCalls, ALaterCycleMayBePreparedInsideOneFile) {
  Profiler prof = profiler("SSS");
  prof.start();
  prof.step();
  prof.step();
  prof.stop();
  ASSERT_TRUE(prof.close());
  EXPECT_EQ(log_->take(),
            "prepare, open run.sonde, begin 0, end, ready, prepare, begin 1, end, ready, prepare, "
            "begin 2, end, ready, close");
}

TEST_F(ProfilerCalls, EachCycleHasItsFileIfAskedFor) {
  ProfilerOptions each = options(letters("SWSN"));
  each.one_file_per_cycle = true;
  Profiler prof = profiler(std::move(each));
  prof.start();
  for (int step = 0; step < 3; ++step) prof.step();
  prof.stop();
  EXPECT_EQ(log_->take(),
            "prepare, open run.0.sonde, begin 0, end, ready, prepare, close, open run.1.sonde, "
            "begin 2, end, ready");
  EXPECT_EQ(prof.path(), "run.1.sonde");
}

TEST_F(ProfilerCalls, TheDestructorStopsAndCloses) {
  {
    ProfilerMaker::make(options({}), testing::fake_hooks(log_)).start();
  }
  EXPECT_EQ(log_->take(), "prepare, open run.sonde, begin 0, end, ready, close");
}

TEST_F(ProfilerCalls, StartAndStopMayComeFromDifferentThreads) {
  Profiler prof = profiler("RSN");
  std::thread([&] { prof.start(); }).join();
  std::thread([&] { prof.step(); }).join();
  std::thread([&] { prof.step(); }).join();
  prof.stop();
  EXPECT_EQ(log_->take(), "prepare, open run.sonde, begin 0, end, ready");
}

TEST_F(ProfilerCalls, ThePhasesMayBeCalledOneByOne) {
  Profiler prof = profiler("R");
  prof.prepare_trace();
  prof.start_trace();
  prof.stop_trace();
  EXPECT_EQ(log_->take(), "prepare, open run.sonde, begin 0, end");
  EXPECT_TRUE(prof.status());
}

TEST_F(ProfilerCalls, AStartWithoutPrepareIsAnError) {
  Profiler prof = profiler("R");
  prof.start_trace();
  EXPECT_FALSE(prof.status());
}

TEST_F(ProfilerCalls, TheTraceIsTheCycleStartedLast) {
  Profiler prof = profiler("SSN");
  prof.start();
  prof.step();
  prof.step();
  EXPECT_EQ(prof.trace().error().message, "run.sonde window 1");
}

TEST_F(ProfilerCalls, TheTraceIsAllCyclesWithAccEvents) {
  ProfilerOptions all = options(letters("SSN"));
  all.acc_events = true;
  Profiler prof = profiler(std::move(all));
  prof.start();
  prof.step();
  prof.step();
  EXPECT_EQ(prof.trace().error().message, "run.sonde all");
}

TEST_F(ProfilerCalls, TheTraceStaysTheLastCycleWhileAnotherFileIsOnlyPrepared) {
  ProfilerOptions each = options(letters("SW"));
  each.one_file_per_cycle = true;
  Profiler prof = profiler(std::move(each));
  prof.start();
  prof.step();
  EXPECT_EQ(prof.trace().error().message, "run.0.sonde window 0");
}

TEST_F(ProfilerCalls, ThereIsNoTraceBeforeACycleEnded) {
  Profiler prof = profiler("RR");
  EXPECT_THAT(prof.trace().error().message, HasSubstr("no cycle has started"));
  prof.start();
  EXPECT_THAT(prof.trace().error().message, HasSubstr("still being recorded"));
}

TEST_F(ProfilerCalls, TheOptionsReachTheSession) {
  ProfilerOptions flags = options({});
  flags.record.profile_memory = flags.record.with_stack = true;
  flags.record.with_flops = flags.record.with_modules = true;
  flags.record.gpu_level = GpuLevel::Full;
  flags.budget_bytes = 12345;
  flags.policy = BufferPolicy::Drop;
  flags.crash_safe = false;
  flags.only_thread_ids = {7};
  flags.only_thread_names = {"loader"};
  Profiler prof = profiler(std::move(flags));
  prof.start();
  EXPECT_THAT(log_->options.record.activities, ElementsAre(Activity::Cpu, Activity::Cuda));
  EXPECT_TRUE(log_->options.record.profile_memory);
  EXPECT_TRUE(log_->options.record.with_stack);
  EXPECT_TRUE(log_->options.record.with_flops);
  EXPECT_TRUE(log_->options.record.with_modules);
  EXPECT_EQ(log_->options.record.gpu_level, GpuLevel::Full);
  EXPECT_EQ(log_->options.budget_bytes, 12345u);
  EXPECT_EQ(log_->options.policy, BufferPolicy::Drop);
  EXPECT_FALSE(log_->options.crash_safe);
  EXPECT_THAT(log_->options.only_thread_ids, ElementsAre(7));
  EXPECT_THAT(log_->options.only_thread_names, ElementsAre("loader"));
}

TEST(SupportedActivities, BeginWithTheCpu) {
  EXPECT_EQ(supported_activities().front(), Activity::Cpu);
}

}  // namespace
}  // namespace sonde
