// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/answer/trace_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "sonde/trace/builder.h"

namespace sonde::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Trace built(TraceBuilder builder) {
  Result<Trace> trace = std::move(builder).build();
  return trace ? *std::move(trace) : Trace();
}

TEST(TraceFacts, CountsSpansByKind) {
  TraceBuilder builder;
  builder.spans().push_back({.start_ns = 1, .duration_ns = 1});
  builder.spans().push_back({.start_ns = 2, .duration_ns = 1});
  builder.spans().push_back({.start_ns = 3, .duration_ns = 1, .kind = SpanKind::Kernel});
  EXPECT_THAT(gather_facts(built(std::move(builder))).counts.spans_by_kind,
              ElementsAre(Pair(SpanKind::Scope, 2), Pair(SpanKind::Kernel, 1)));
}

TEST(TraceFacts, FindsTheRangeAndTimeOfSteps) {
  TraceBuilder builder;
  for (const std::int64_t step : {7, 5, 6}) {
    builder.spans().push_back(
        {.start_ns = step, .duration_ns = 10, .kind = SpanKind::Step, .step = step});
  }
  const StepCounts steps = gather_facts(built(std::move(builder))).counts.steps;
  EXPECT_EQ(steps.count, 3);
  EXPECT_EQ(steps.first, 5);
  EXPECT_EQ(steps.last, 7);
  EXPECT_EQ(steps.total_ns, 30);
}

TEST(TraceFacts, SumsLossesAndNamesEachDetailOnce) {
  TraceBuilder builder;
  builder.add_ledger(LedgerKind::DroppedByBudget, 3, "thread 1", "worker");
  builder.add_ledger(LedgerKind::DroppedByBudget, 4, "thread 2", "worker");
  builder.add_ledger(LedgerKind::DroppedByBudget, 5, "thread 3");
  const Trace trace = built(std::move(builder));
  const TraceFacts facts = gather_facts(trace);
  EXPECT_EQ(facts.ledger.at(LedgerKind::DroppedByBudget).count, 12);
  EXPECT_THAT(facts.ledger.at(LedgerKind::DroppedByBudget).details, ElementsAre("worker"));
  EXPECT_TRUE(facts.has(LedgerClass::Lost));
}

TEST(TraceFacts, TakesTheWorstClockErrorOfAll) {
  TraceBuilder builder;
  builder.add_ledger(LedgerKind::ClockErrorNs, 30);
  builder.add_ledger(LedgerKind::ClockErrorNs, 20);
  const Trace trace = built(std::move(builder));
  EXPECT_EQ(gather_facts(trace).ledger.at(LedgerKind::ClockErrorNs).count, 30);
}

TEST(TraceFacts, CountsOfZeroAreNoLoss) {
  TraceBuilder builder;
  builder.add_ledger(LedgerKind::DroppedByBudget, 0);
  EXPECT_FALSE(gather_facts(built(std::move(builder))).has(LedgerClass::Lost));
}

TEST(UtcText, KnowsTheEpochAndTimesBeforeIt) {
  EXPECT_EQ(utc_text(0), "1970-01-01 00:00:00.000 UTC");
  EXPECT_EQ(utc_text(1'772'366'400'250'000'000), "2026-03-01 12:00:00.250 UTC");
  EXPECT_EQ(utc_text(-1'000'000), "1969-12-31 23:59:59.999 UTC");
}

}  // namespace
}  // namespace sonde::cli
