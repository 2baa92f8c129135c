// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyse/testing/op_trace.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using testing::OpTrace;

TEST(StepTimes, AreEmptyWithoutSteps) {
  EXPECT_TRUE(step_times(testing::sketch("main aaa")).steps.empty());
}

TEST(StepTimes, DivideAStepByDeviceAndByHost) {
  OpTrace t;
  t.step(1, 0, 100);
  t.step(2, 100, 200);
  t.op("aten::mm", 10, 40);
  t.kernel("k", 20, 60);
  t.kernel("k", 90, 130);  // across the end of a step
  const StepTimes times = step_times(t.build());
  ASSERT_EQ(times.steps.size(), 2U);
  EXPECT_EQ(times.steps[0].in_operators_ns, 30'000);
  EXPECT_EQ(times.steps[0].device_busy_ns, 50'000);
  EXPECT_EQ(times.steps[1].device_busy_ns, 30'000);
  for (const StepTime& step : times.steps)
    EXPECT_EQ(step.device_busy_ns + step.device_idle_ns, step.host_ns());
}

TEST(StepTimes, CountOperatorsOfAllThreads) {
  OpTrace t;
  const TrackId engine = t.thread(7);
  t.step(1, 0, 100);
  t.op("aten::mm", 10, 40);
  t.span("MmBackward0", SpanKind::CpuOp, engine, 30, 90);
  EXPECT_EQ(step_times(t.build()).steps[0].in_operators_ns, 80'000);
}

TEST(StepTimes, HaveNoDeviceTimeWhereThereIsNoDevice) {
  OpTrace t;
  t.step(1, 0, 100);
  EXPECT_EQ(step_times(t.build()).steps.front().device_busy_ns, -1);
}

TEST(StepTimes, NameWhatMadeAStepAnOutlier) {
  OpTrace t;
  for (int i = 0; i < 6; ++i) {
    const Nanos begin_us = 1000 * i;
    t.step(i, begin_us, begin_us + (i == 3 ? 900 : 100 + i));
    t.op("aten::mm", begin_us + 10, begin_us + 60);
    t.op("aten::cat", begin_us + 60, begin_us + (i == 3 ? 800 : 70));
  }
  const StepTimes times = step_times(t.build());
  EXPECT_EQ(times.outliers, 1U);
  EXPECT_TRUE(times.steps[3].is_outlier);
  EXPECT_EQ(times.steps[3].why, "aten::cat took 730.000 µs more than in step 2");
  EXPECT_EQ(times.median_ns, 103'000);
}

TEST(StepTimes, SayThatItWasOutsideOfAllSpans) {
  OpTrace t;
  for (int i = 0; i < 5; ++i) {
    t.step(i, 1000 * i, 1000 * i + (i == 4 ? 900 : 100));
    t.op("aten::mm", 1000 * i + 10, 1000 * i + 60);
  }
  EXPECT_THAT(step_times(t.build()).steps[4].why, ::testing::HasSubstr("outside all spans"));
}

TEST(StepTimes, ThatVaryHaveNoOutliers) {
  OpTrace t;
  for (int i = 0; i < 8; ++i) t.step(i, 1000 * i, 1000 * i + 100 + 40 * (i % 4));
  EXPECT_EQ(step_times(t.build()).outliers, 0U);
}

TEST(StepTimes, KnowTheMostMemoryOfAStep) {
  OpTrace t;
  t.step(1, 0, 100);
  t.step(2, 100, 200);
  t.flag("profile_memory");
  const auto memory = [&t](Nanos at_us, std::uint64_t address, std::int64_t bytes) {
    t.builder().allocations().push_back({.time_ns = at_us * 1000,
                                         .track = t.main(),
                                         .address = address,
                                         .bytes = bytes,
                                         .device_type = DeviceType::Cuda,
                                         .device_index = 0});
  };
  memory(10, 1, 300);
  memory(20, 2, 500);
  memory(30, 2, -500);
  memory(110, 3, 100);
  const StepTimes times = step_times(t.build());
  EXPECT_EQ(times.steps[0].peak_bytes, 800);
  EXPECT_EQ(times.steps[1].peak_bytes, 400);
}

// Three steps of an optimiser; the last span lasts until the program has ended.
TEST(StepTimes, LeaveOutWhatOnlyTheEndOfTheRecordingEnded) {
  OpTrace t;
  for (int i = 0; i < 4; ++i) {
    const Nanos begin_us = 100 * i;
    t.step(i, begin_us, i < 3 ? begin_us + 100 : 5'000);
    if (i < 3) t.annotation("Optimizer.step#SGD.step", begin_us + 80, begin_us + 99);
  }
  t.builder().metadata().push_back({ProcessId(0), t.builder().intern("steps_inferred_from"),
                                    t.builder().intern("\"Optimizer.step#SGD.step\"")});
  const StepTimes times = step_times(t.build());
  ASSERT_EQ(times.steps.size(), 3U);
  EXPECT_EQ(times.steps.back().host_ns(), 100'000);
}

// The slow one is a span that another thread ended: nothing is inside it.
TEST(StepTimes, DoNotSayThatSomethingTookNoTimeMore) {
  OpTrace t;
  for (int i = 0; i < 6; ++i) {
    const auto span = t.span("ProfilerStep#1", SpanKind::Step, t.main(), 1000 * i,
                             1000 * i + (i == 3 ? 900 : 100 + i));
    t.builder().spans().step.set(span.span(), i);
    if (i == 3) t.builder().spans().flags.set(span.span(), SpanFlags::kAsync);
  }
  EXPECT_THAT(step_times(t.build()).steps[3].why, ::testing::Not(::testing::HasSubstr("0 ns")));
}

}  // namespace
}  // namespace sonde
