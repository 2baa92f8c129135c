// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/steady.h"

#include <gtest/gtest.h>

#include <string>

#include "analyse/testing/op_trace.h"

namespace sonde::detail {
namespace {

using testing::OpTrace;

SteadyPart part_of(const Trace& trace) {
  return steady_part(trace, step_times(trace), TrackId(0));
}

TEST(SteadyPart, IsEverythingWithoutSteps) {
  OpTrace t;
  t.op("aten::mm", 10, 90);
  const SteadyPart part = part_of(t.build());
  EXPECT_EQ(part.rule, StepRule::None);
  EXPECT_TRUE(part.has(20'000));
}

TEST(SteadyPart, LeavesOutTheStartAndTheFirstSlowSteps) {
  OpTrace t;
  t.annotation("import torch", 0, 900);
  for (int i = 0; i < 6; ++i)
    t.step(i, 1000 * (i + 1), 1000 * (i + 1) + (i == 0 ? 900 : i == 1 ? 400 : 100));
  const Trace trace = t.build();
  const SteadyPart part = part_of(trace);
  EXPECT_EQ(part.rule, StepRule::Recorded);
  EXPECT_EQ(part.warm_up_steps, 2U);
  EXPECT_EQ(part.steps, 4U);
  EXPECT_EQ(part.covers.total_ns(), 400'000);
  EXPECT_EQ(part.start_ns, 1'000'000);
  EXPECT_EQ(trace.name(part.start_span), "import torch");
}

// On a busy machine the first ones may take longer by chance.
TEST(SteadyPart, TakesNoVariationForWarmUp) {
  EXPECT_EQ(warm_up_steps({15, 16, 17, 15, 9, 14, 6, 12, 8, 16, 10, 7, 13, 9}), 0U);
  EXPECT_EQ(warm_up_steps({90, 9, 16, 14, 6, 12, 8, 16, 10, 7, 13, 9}), 1U);
}

TEST(SteadyPart, OfFewStepsHasNoWarmUp) {
  OpTrace t;
  t.step(0, 0, 900);
  t.step(1, 1000, 1100);
  EXPECT_EQ(part_of(t.build()).warm_up_steps, 0U);
}

// Three steps, each with an optimiser that takes 20 parameters one by one: the updates are no
// steps.
TEST(SteadyPart, DoesNotTakeAnInnerLoopForIterations) {
  OpTrace t;
  for (int step = 0; step < 3; ++step) {
    const Nanos begin_us = 10'000 * step;
    t.op("aten::linear", begin_us, begin_us + 8000);
    for (int i = 0; i < 20; ++i) {
      Nanos at_us = begin_us + 8100 + 40 * i;
      for (const char* const name : {"aten::mul_", "aten::add_", "aten::sqrt", "aten::addcdiv_"}) {
        t.op(name, at_us, at_us + 8);
        at_us += 10;
      }
    }
  }
  EXPECT_EQ(part_of(t.build()).rule, StepRule::None);
}

TEST(SteadyPart, FindsIterationsThatNobodyMarked) {
  OpTrace t;
  t.op("aten::randn", 0, 500);
  for (int i = 0; i < 8; ++i) {
    const Nanos begin_us = 1000 + 100 * i;
    t.op("aten::mm", begin_us, begin_us + 40);
    t.op("aten::relu", begin_us + 40, begin_us + 50);
    t.op("aten::mm", begin_us + 50, begin_us + 80);
    t.op("aten::add", begin_us + 80, begin_us + 90);
  }
  t.op("aten::sum", 1900, 1910);
  const SteadyPart part = part_of(t.build());
  EXPECT_EQ(part.rule, StepRule::Repeated);
  EXPECT_EQ(part.steps, 7U);
  EXPECT_EQ(part.step_ns, 100'000);
  EXPECT_FALSE(part.has(100'000));
}

// The loss is printed five times in fifty iterations.
TEST(SteadyPart, WhatIsPrintedNowAndThenDoesNotMakeIterations) {
  OpTrace t;
  for (int i = 0; i < 50; ++i) {
    const Nanos begin_us = 100 * i;
    t.op("aten::mm", begin_us, begin_us + 40);
    t.op("aten::relu", begin_us + 40, begin_us + 50);
    t.op("aten::mm", begin_us + 50, begin_us + 80);
    t.op("aten::add", begin_us + 80, begin_us + 90);
    if (i % 10 == 0) t.op("aten::item", begin_us + 90, begin_us + 92);
  }
  EXPECT_GE(part_of(t.build()).steps, 40U);
}

TEST(SteadyPart, DoesNotTakeAnyRepetitionForIterations) {
  OpTrace t;
  const char* const names[] = {"a", "b", "c", "d", "e", "f", "g"};
  Nanos at_us = 0;
  for (int i = 0; i < 40; ++i, at_us += 10) t.op(names[i * i % 7], at_us, at_us + 10);
  t.op("aten::mm", at_us, at_us + 5000);
  EXPECT_EQ(part_of(t.build()).rule, StepRule::None);
}

}  // namespace
}  // namespace sonde::detail
