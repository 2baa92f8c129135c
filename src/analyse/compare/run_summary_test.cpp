// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/compare/step_parts.h"
#include "sonde/open.h"
#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::sketch;

Trace recorded(const char* name) {
  return *open_trace(std::string(SONDE_TEST_DATA) + "/torch-2.11-h200/" + name +
                     ".pt.trace.json.gz");
}

double sum_of(const RunSummary& run, bool is_device) {
  double sum = 0;
  for (const RunItem& item : run.items) sum += item.is_device == is_device ? item.mean_ns : 0;
  return sum;
}

TEST(RunSummary, ItemsAddUpToTheStepAndToTheDevice) {
  for (const char* const name : {"transformer", "graph_streams", "compiled", "ranks4/rank2"}) {
    const RunSummary run = run_summary(recorded(name), name);
    EXPECT_GT(run.items.size(), 3) << name;
    EXPECT_NEAR(sum_of(run, false), run.step_mean_ns, 0.5) << name;
    EXPECT_NEAR(sum_of(run, true), run.device_mean_ns, 0.5) << name;
  }
}

TEST(RunSummary, CountsWhatRepeats) {
  const RunSummary run = run_summary(recorded("transformer"), "t");
  EXPECT_TRUE(run.has_steps);
  EXPECT_EQ(run.steps, 1);
  EXPECT_EQ(run.exact.at("kernels"), 141);
  EXPECT_GT(run.exact.at("launches"), 0);
  EXPECT_GT(run.exact.at("peak_memory"), 0);
  EXPECT_GT(run.exact.at("flops"), 0);
}

TEST(RunSummary, WithoutStepsTheWholeRecordingCounts) {
  const RunSummary run = run_summary(sketch(R"(
      main           aaaaaaaa..
      main           .bb.cccc..
      gpu0/stream7   ....kkkk..
  )"),
                                     "s");
  EXPECT_FALSE(run.has_steps);
  EXPECT_EQ(run.steps, 1);
  EXPECT_EQ(run.step_mean_ns, 8000);
  EXPECT_EQ(sum_of(run, false), 8000);
  EXPECT_EQ(run.device_mean_ns, 4000);
  EXPECT_EQ(run.exact.at("kernels"), 1);
}

TEST(RunSummary, WithoutStepsThePeakIsThatOfTheRecording) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId track = builder.tracks().push_back({.process = process, .id = 1});
  builder.spans().push_back({.start_ns = 0,
                             .duration_ns = 100,
                             .name = builder.intern("a"),
                             .track = track,
                             .kind = SpanKind::CpuOp});
  const auto memory = [&](Nanos time_ns, std::uint64_t address, std::int64_t bytes) {
    builder.allocations().push_back(
        {.time_ns = time_ns, .track = track, .address = address, .bytes = bytes});
  };
  memory(10, 1, 300);
  memory(20, 2, 500);
  memory(30, 1, -300);
  memory(40, 3, 200);
  const RunSummary run = run_summary(*std::move(builder).build(), "s");
  EXPECT_FALSE(run.has_steps);
  EXPECT_EQ(run.exact.at("peak_memory"), 800);
}

TEST(RunSummary, RanksOfARunAreJoined) {
  const RunSummary one = run_summary(recorded("ranks4/rank0"), "0");
  const RunSummary two = run_summary(recorded("ranks4/rank1"), "1");
  const RunSummary both = joined_ranks({one, two});
  EXPECT_EQ(both.ranks, 2);
  EXPECT_NEAR(both.step_mean_ns, (one.step_mean_ns + two.step_mean_ns) / 2, 1e-6);
  EXPECT_EQ(both.exact.at("operators"), one.exact.at("operators") + two.exact.at("operators"));
  EXPECT_NEAR(sum_of(both, false), both.step_mean_ns, 1);
}

TEST(RunSummary, ABaselineKeepsIt) {
  const RunSummary run = run_summary(recorded("transformer"), "a\tb.json");
  const std::string text = baseline_text({run, run});
  EXPECT_LT(text.size(), 60'000);
  const Result<std::vector<RunSummary>> read = parse_baseline(text);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2);
  EXPECT_EQ(read->front().name, "a b.json");
  EXPECT_EQ(read->front().exact, run.exact);
  EXPECT_EQ(read->front().items.size(), run.items.size());
  EXPECT_NEAR(sum_of(read->back(), false), run.step_mean_ns, 200);
  EXPECT_EQ(baseline_text(*read), text);
}

TEST(RunSummary, GroupsTellOperatorsOfOneNameApart) {
  const Trace trace = recorded("transformer");
  const RunSummary plain = run_summary(trace, "p");
  const RunSummary grouped = run_summary(trace, "g", {.by_shapes = true, .by_module = true});
  EXPECT_GT(grouped.items.size(), plain.items.size());
  EXPECT_EQ(grouped.step_mean_ns, plain.step_mean_ns);
  EXPECT_EQ(grouped.exact, plain.exact);
  for (const bool is_device : {false, true})
    EXPECT_NEAR(sum_of(grouped, is_device), sum_of(plain, is_device), 0.5);
  const auto product = std::find_if(
      grouped.items.begin(), grouped.items.end(),
      [](const RunItem& item) { return !item.is_device && item.name == "aten::addmm"; });
  ASSERT_NE(product, grouped.items.end());
  EXPECT_TRUE(product->shapes.starts_with("[[")) << product->shapes;
}

TEST(RunSummary, ABaselineKeepsItsGroups) {
  const RunSummary run = run_summary(recorded("transformer"), "g", {.by_shapes = true});
  const Result<std::vector<RunSummary>> read = parse_baseline(baseline_text({run, run}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->back().grouping, run.grouping);
  EXPECT_EQ(read->back().items.size(), run.items.size());
  EXPECT_EQ(baseline_text(*read), baseline_text({run, run}));
}

TEST(RunSummary, DamagedBaselinesAreRefused) {
  for (const char* const text :
       {"", "nonsense", "sonde-baseline 2\n", "sonde-baseline 1\n",
        "sonde-baseline 1\nstep_median_ns\t1\n", "sonde-baseline 1\nrun\ta\nstep_median_ns\tx\n",
        "sonde-baseline 1\nrun\ta\nstep_median_ns\t1\t2\n",
        "sonde-baseline 1\nrun\ta\nitem host\tx\t\t\t1 2\n",
        "sonde-baseline 1\nrun\ta\nstep_mean_ns\tnan\n", "sonde-baseline 1\nrun\ta\nrun\tb\n",
        "sonde-baseline 1\nrun\ta\nsteps\t-1\n"})
    EXPECT_FALSE(parse_baseline(text)) << text;
}

TEST(StepParts, AThreadThatWaitsForAnotherLendsItItsTime) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId main = builder.tracks().push_back({.process = process, .id = 1});
  const TrackId other = builder.tracks().push_back({.process = process, .id = 2});
  const auto add = [&](const char* name, TrackId track, Nanos start, Nanos duration,
                       SpanKind kind) {
    builder.spans().push_back({.start_ns = start,
                               .duration_ns = duration,
                               .name = builder.intern(name),
                               .track = track,
                               .kind = kind});
  };
  add("step", main, 0, 100, SpanKind::Step);
  add("mm", main, 10, 20, SpanKind::CpuOp);
  add("gradient", other, 25, 35, SpanKind::CpuOp);
  const Trace trace = *std::move(builder).build();
  std::vector<std::string> seen;
  detail::StepParts(trace, process).for_each(main, 0, 100, [&](const detail::Moment& moment) {
    seen.push_back(std::string(trace.name(moment.span)) + " " + std::to_string(moment.begin_ns) +
                   "-" + std::to_string(moment.end_ns));
  });
  EXPECT_THAT(seen, ElementsAre("step 0-10", "mm 10-30", "gradient 30-60", "step 60-100"));
}

TEST(StepParts, SpansThatAreOpenAtTheBeginningCount) {
  const Trace trace = testing::sketch(R"(
      main  aaaaaaaaaaaa..
      main  bbb.dddddd....
      main  .....ee.......
  )");
  std::string seen;
  for (const detail::Moment& moment :
       detail::innermost_moments(trace, TrackId(0), trace.first_ns() + 8000, trace.last_ns()))
    seen += trace.name(moment.span);
  EXPECT_EQ(seen, "da");
}

}  // namespace
}  // namespace sonde
