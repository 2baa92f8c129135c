// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a profiler does and reports when something is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "profiler/testing/profiler_calls.h"
#include "sonde/profiler.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::letters;
using testing::ProfilerCalls;

using ProfilerErrors = ProfilerCalls;

TEST_F(ProfilerErrors, AWrongScheduleIsSaidOnce) {
  Profiler prof = profiler("RNRNRN");
  prof.start();
  for (int step = 0; step < 5; ++step) prof.step();
  EXPECT_THAT(messages_.take(),
              ElementsAre("warning: Incorrect schedule: RECORD followed by NONE"));
}

TEST_F(ProfilerErrors, AnImpossibleScheduleRecordsNothing) {
  Profiler prof = profiler(options(schedule({.warmup = 1, .active = -1})));
  EXPECT_THAT(messages_.take(), ElementsAre(HasSubstr("error: schedule: active must be positive")));
  prof.start();
  prof.step();
  prof.stop();
  EXPECT_EQ(log_->take(), "");
  ASSERT_FALSE(prof.status());
  EXPECT_THAT(prof.status().error().message, HasSubstr("active=-1"));
  EXPECT_THAT(messages_.take(), IsEmpty());
}

TEST_F(ProfilerErrors, AFileThatCannotBeWrittenEndsTheRecordingAndIsSaidOnce) {
  {
    Profiler prof = profiler("RRRR");
    prof.start();
    prof.step();
    log_->take();
    log_->is_disk_full = true;
    ASSERT_FALSE(prof.status());
    EXPECT_THAT(prof.status().error().message, HasSubstr("disk full"));
    prof.step();
    EXPECT_EQ(log_->take(), "end");
    prof.step();
    EXPECT_FALSE(prof.close());
  }
  EXPECT_THAT(messages_.take(), ElementsAre(HasSubstr("error: ")));
}

TEST_F(ProfilerErrors, AFileThatCannotBeFinishedIsSaidOnce) {
  {
    Profiler prof = profiler("RRRR");
    prof.start();
    prof.stop();
    log_->is_disk_full = true;
  }
  EXPECT_THAT(messages_.take(), ElementsAre(HasSubstr("disk full")));
}

TEST_F(ProfilerErrors, NoActivitiesAreAnError) {
  ProfilerOptions none = options({});
  none.record.activities = {};
  Profiler prof = profiler(std::move(none));
  ASSERT_FALSE(prof.status());
  EXPECT_EQ(prof.status().error().message, "No valid profiler activities found");
}

TEST_F(ProfilerErrors, AnActivityTwiceIsAnError) {
  ProfilerOptions twice = options({});
  twice.record.activities = {Activity::Cuda, Activity::Cpu, Activity::Cuda};
  Profiler prof = profiler(std::move(twice));
  ASSERT_FALSE(prof.status());
  EXPECT_THAT(prof.status().error().message, HasSubstr("specified more than once"));
}

TEST_F(ProfilerErrors, AccEventsAndAFileACycleExcludeEachOther) {
  ProfilerOptions both = options({});
  both.acc_events = both.one_file_per_cycle = true;
  EXPECT_FALSE(profiler(std::move(both)).status());
}

TEST_F(ProfilerErrors, AScheduleMustNotSayDeviceStopped) {
  Profiler at_once = profiler("D");
  ASSERT_FALSE(at_once.status());
  EXPECT_THAT(at_once.status().error().message, HasSubstr("is set internally"));

  Profiler later = profiler("RD");
  later.start();
  later.step();
  ASSERT_FALSE(later.status());
  EXPECT_EQ(later.step_num(), 0);
  EXPECT_EQ(log_->take(), "prepare, open run.sonde, begin 0, end");
}

TEST_F(ProfilerErrors, AScheduleThatThrowsOrLiesIsAnError) {
  Profiler throws = profiler(
      options([](std::int64_t) -> ProfilerAction { throw std::runtime_error("no idea"); }));
  ASSERT_FALSE(throws.status());
  EXPECT_THAT(throws.status().error().message, HasSubstr("schedule(0) threw: no idea"));

  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): what a schedule may do wrong
  const auto seventy_seven = static_cast<ProfilerAction>(77);
  Profiler lies = profiler(options([=](std::int64_t) { return seventy_seven; }));
  ASSERT_FALSE(lies.status());
  EXPECT_THAT(lies.status().error().message, HasSubstr("not a ProfilerAction: 77"));
}

TEST_F(ProfilerErrors, AFileThatCannotBeOpenedStopsTheProfilerNotTheProgram) {
  log_->fail_open = true;
  Profiler prof = profiler("RRS");
  prof.start();
  prof.step();
  prof.stop();
  ASSERT_FALSE(prof.status());
  EXPECT_EQ(prof.status().error().message, "run.sonde: cannot create");
  EXPECT_THAT(messages_.take(), ElementsAre("error: run.sonde: cannot create"));
  EXPECT_EQ(log_->take(), "prepare");
}

TEST_F(ProfilerErrors, AWindowThatCannotBeginIsAnError) {
  log_->fail_begin = true;
  Profiler prof = profiler("R");
  prof.start();
  ASSERT_FALSE(prof.status());
  EXPECT_EQ(prof.status().error().message, "no window today");
}

TEST_F(ProfilerErrors, ACallbackThatThrowsIsSaidAndTheScheduleGoesOn) {
  ProfilerOptions throwing = options(letters("SSN"));
  throwing.on_trace_ready = [](Profiler&) { throw std::runtime_error("disk on fire"); };
  Profiler prof = profiler(std::move(throwing));
  prof.start();
  prof.step();
  EXPECT_THAT(messages_.take(), ElementsAre("warning: on_trace_ready threw: disk on fire"));
  EXPECT_TRUE(prof.status());
  EXPECT_EQ(log_->take(), "prepare, open run.sonde, begin 0, end, prepare, begin 1");
}

TEST_F(ProfilerErrors, ACallbackCannotMoveTheProfiler) {
  ProfilerOptions meddling = options(letters("SN"));
  meddling.on_trace_ready = [](Profiler& prof) {
    prof.step();
    prof.stop();
    prof.start();
    prof.prepare_trace();
    EXPECT_FALSE(prof.close());
  };
  Profiler prof = profiler(std::move(meddling));
  prof.start();
  prof.step();
  EXPECT_EQ(prof.step_num(), 1);
  EXPECT_EQ(log_->take(), "prepare, open run.sonde, begin 0, end");
  EXPECT_EQ(messages_.take().size(), 4u);
}

TEST_F(ProfilerErrors, StepsOutsideStartAndStopDoNothingButSaySo) {
  Profiler prof = profiler("RR");
  prof.step();
  prof.step();
  EXPECT_EQ(prof.step_num(), 0);
  EXPECT_THAT(messages_.take(), ElementsAre(HasSubstr("step(): the profiler is not running")));
}

TEST_F(ProfilerErrors, ASecondStartDoesNothingButSaySo) {
  Profiler prof = profiler("RR");
  prof.start();
  log_->take();
  prof.start();
  EXPECT_EQ(log_->take(), "");
  EXPECT_THAT(messages_.take(), ElementsAre(HasSubstr("start(): the profiler is already running")));
}

TEST_F(ProfilerErrors, NothingCanBeStartedAfterClose) {
  Profiler prof = profiler("N");
  prof.start();
  ASSERT_TRUE(prof.close());
  prof.start();
  ASSERT_FALSE(prof.status());
  EXPECT_THAT(prof.status().error().message, HasSubstr("start(): the profiler is closed"));
}

TEST_F(ProfilerErrors, NothingCanBePreparedAfterClose) {
  Profiler prof = profiler("N");
  ASSERT_TRUE(prof.close());
  prof.prepare_trace();
  ASSERT_FALSE(prof.status());
  EXPECT_THAT(prof.status().error().message, HasSubstr("prepare_trace(): the profiler is closed"));
  EXPECT_EQ(log_->take(), "");
}

TEST(MessageHandler, IsGivenBackWhenAnotherIsSet) {
  int calls = 0;
  MessageHandler before = set_message_handler([&](MessageLevel, std::string_view) { ++calls; });
  MessageHandler ours = set_message_handler(std::move(before));
  ASSERT_TRUE(ours);
  ours(MessageLevel::Warning, "x");
  EXPECT_EQ(calls, 1);
}

TEST(MessageHandler, ThatThrowsEndsNoProgram) {
  MessageHandler before = set_message_handler(
      [](MessageLevel, std::string_view) { throw std::runtime_error("from the handler"); });
  {
    Profiler prof({.output = "/no/such/folder/run.sonde"});
    EXPECT_NO_THROW(prof.start());
    EXPECT_FALSE(prof.status());
  }
  set_message_handler(std::move(before));
}

}  // namespace
}  // namespace sonde
