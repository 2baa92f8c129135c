// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

namespace sonde {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Sixteen runs of one unchanged training job on an H200.
const std::vector<RunSummary>& same_runs() {
  static const std::vector<RunSummary> runs = [] {
    std::ifstream file(std::string(SONDE_TEST_DATA) + "/same_runs.sondebase");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return *parse_baseline(text);
  }();
  return runs;
}

struct Sides {
  std::vector<RunSummary> base;
  std::vector<RunSummary> now;
};

Sides split_runs(const std::vector<RunSummary>& all, std::size_t each, std::mt19937& random) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  Sides sides;
  for (std::size_t i = 0; i < each; ++i) {
    sides.base.push_back(all[order[i]]);
    sides.now.push_back(all[order[each + i]]);
  }
  return sides;
}

std::vector<RunSummary> without_items(std::vector<RunSummary> runs) {
  for (RunSummary& run : runs) run.items.clear();
  return runs;
}

std::vector<Gate> gates(const std::vector<std::string>& texts) {
  std::vector<Gate> made;
  for (const std::string& text : texts) made.push_back(*parse_gate(text));
  return made;
}

bool has_finding(const Comparison& result) {
  const auto is_finding = [](const ItemChange& item) { return item.time.is_finding; };
  return std::any_of(result.host.begin(), result.host.end(), is_finding) ||
         std::any_of(result.device_work.begin(), result.device_work.end(), is_finding);
}

TEST(Compare, UnchangedRunsSeldomFailAGate) {
  const std::vector<RunSummary> runs = without_items(same_runs());
  const std::vector<Gate> both = gates({"step<5%", "device<2%"});
  std::mt19937 random(1);
  int failed = 0;
  constexpr int kSplits = 2000;
  for (int i = 0; i < kSplits; ++i) {
    const Sides sides = split_runs(runs, 5, random);
    failed += compare_runs(sides.base, sides.now, both).verdict == Verdict::Failed ? 1 : 0;
  }
  EXPECT_LE(failed, kSplits * 2 / 100);
}

TEST(Compare, UnchangedRunsSeldomHaveFindings) {
  std::mt19937 random(2);
  int found = 0;
  constexpr int kSplits = 60;
  for (int i = 0; i < kSplits; ++i) {
    const Sides sides = split_runs(same_runs(), 5, random);
    found += has_finding(compare_runs(sides.base, sides.now)) ? 1 : 0;
  }
  EXPECT_LE(found, kSplits / 20);
}

TEST(Compare, FindsThreePercentInOneKernel) {
  std::mt19937 random(3);
  int found = 0;
  constexpr int kSplits = 60;
  for (int i = 0; i < kSplits; ++i) {
    Sides sides = split_runs(same_runs(), 5, random);
    std::string slower;
    for (RunSummary& run : sides.now) {
      for (RunItem& item : run.items) {
        if (!item.is_device || item.median_ns < 100'000) continue;
        if (slower.empty()) slower = item.name;
        if (item.name == slower) item.median_ns *= 1.03;
      }
    }
    const Comparison result = compare_runs(sides.base, sides.now);
    for (const ItemChange& item : result.device_work)
      found += item.item.name == slower && item.time.is_finding ? 1 : 0;
  }
  EXPECT_GE(found, kSplits * 95 / 100);
}

TEST(Compare, SaysWhatCouldHaveBeenSeen) {
  std::mt19937 random(4);
  const Sides sides = split_runs(without_items(same_runs()), 5, random);
  const Comparison result = compare_runs(sides.base, sides.now, gates({"step<5%", "device<2%"}));
  EXPECT_GT(result.step.detectable, 0.05);
  EXPECT_LT(result.device.detectable, 0.02);
  EXPECT_EQ(result.gates[0].verdict, Verdict::Undecided);
  EXPECT_THAT(result.gates[0].why, HasSubstr("record more runs"));
  EXPECT_EQ(result.gates[1].verdict, Verdict::Passed);
  EXPECT_EQ(result.verdict, Verdict::Undecided);
}

RunSummary run_of(double step_ns, std::int64_t kernels) {
  RunSummary run;
  run.has_steps = true;
  run.steps = 10;
  run.step_median_ns = run.step_mean_ns = step_ns;
  run.device_median_ns = run.device_mean_ns = step_ns / 2;
  run.exact["kernels"] = kernels;
  return run;
}

TEST(Compare, HostTimesOfSingleRunsAreNeverTested) {
  const Comparison result = compare_runs({run_of(100, 5)}, {run_of(300, 5)},
                                         gates({"step<5%", "device<2%", "kernels=0"}));
  EXPECT_FALSE(result.step.is_tested);
  EXPECT_EQ(result.gates[0].verdict, Verdict::Undecided);
  EXPECT_EQ(result.gates[1].verdict, Verdict::Failed);
  EXPECT_EQ(result.gates[2].verdict, Verdict::Passed);
  EXPECT_THAT(result.warnings, Contains(HasSubstr("not tested")));
}

TEST(Compare, ASmallChangeIsToldFromNone) {
  const auto runs = [](double step_ns) {
    std::vector<RunSummary> made;
    for (const double wobble : {-0.1, 0.0, 0.1}) made.push_back(run_of(step_ns + wobble, 5));
    return made;
  };
  const TimeChange small = compare_runs(runs(1000), runs(1040)).step;
  EXPECT_TRUE(small.is_small);
  EXPECT_FALSE(small.is_finding);
  EXPECT_GE(small.detectable, 0.05);
  const TimeChange large = compare_runs(runs(1000), runs(1060)).step;
  EXPECT_FALSE(large.is_small);
  EXPECT_TRUE(large.is_finding);
  const TimeChange none = compare_runs(runs(1000), runs(1000)).step;
  EXPECT_FALSE(none.is_small || none.is_finding);
}

TEST(Compare, FewRunsDoNotProveThatTheDeviceKeepsANarrowLimit) {
  const auto verdict = [](double now_ns) {
    return compare_runs({run_of(1000, 5)}, {run_of(now_ns, 5)}, gates({"device<1%"})).verdict;
  };
  EXPECT_EQ(verdict(1005), Verdict::Passed);
  EXPECT_EQ(verdict(1015), Verdict::Undecided);
  EXPECT_EQ(verdict(1025), Verdict::Failed);
}

// Each of several gates is judged more strictly, so it sees less.
TEST(Compare, SeveralGatesSeeLessThanOne) {
  const auto runs = [] {
    std::vector<RunSummary> made;
    for (const double step_ns : {990.0, 995.0, 1000.0, 1005.0, 1010.0})
      made.push_back(run_of(step_ns, 5));
    return made;
  };
  const std::string alone = compare_runs(runs(), runs(), gates({"step<5%"})).gates[0].why;
  const std::string of_two =
      compare_runs(runs(), runs(), gates({"step<5%", "device<5%"})).gates[0].why;
  EXPECT_THAT(alone, HasSubstr("an increase of 1.9 % could have been seen"));
  EXPECT_THAT(of_two, HasSubstr("an increase of 2.1 % could have been seen"));
}

TEST(Compare, ExactFiguresDecideWithoutStatistics) {
  const Comparison more =
      compare_runs({run_of(100, 5)}, {run_of(100, 6)}, gates({"kernels=0", "kernels<25%"}));
  EXPECT_EQ(more.gates[0].verdict, Verdict::Failed);
  EXPECT_EQ(more.gates[0].why, "5 before, 6 now");
  EXPECT_EQ(more.gates[1].verdict, Verdict::Passed);
  const Comparison varying = compare_runs({run_of(100, 5), run_of(100, 7)},
                                          {run_of(100, 6), run_of(100, 8)}, gates({"kernels=0"}));
  EXPECT_EQ(varying.verdict, Verdict::Undecided);
}

TEST(Compare, AGateOnWhatWasNotRecordedIsNotPassed) {
  EXPECT_EQ(compare_runs({run_of(1, 1)}, {run_of(1, 1)}, gates({"peak_memory<1%"})).verdict,
            Verdict::Undecided);
}

TEST(Compare, AGateOnADeviceThatDidNothingIsNotPassed) {
  RunSummary run = run_of(100, 0);
  run.device_median_ns = run.device_mean_ns = 0;
  for (const std::size_t runs : {std::size_t{1}, std::size_t{3}}) {
    const std::vector<RunSummary> side(runs, run);
    const Comparison result = compare_runs(side, side, gates({"device<2%", "launches=0"}));
    EXPECT_EQ(result.gates[0].verdict, Verdict::Undecided);
    EXPECT_THAT(result.gates[0].why, HasSubstr("--gpu"));
    EXPECT_EQ(result.gates[1].verdict, Verdict::Passed);
    EXPECT_THAT(result.gates[1].why, HasSubstr("--gpu"));
  }
}

TEST(Compare, WhatOnlyOneSideRecordedIsNoChange) {
  RunSummary with_memory = run_of(1, 1);
  with_memory.exact["peak_memory"] = 1000;
  const Comparison result =
      compare_runs({with_memory}, {run_of(1, 1)}, gates({"peak_memory<1%", "kernels=0"}));
  EXPECT_EQ(result.exact.size(), 1);
  EXPECT_EQ(result.gates[0].verdict, Verdict::Undecided);
  EXPECT_EQ(result.gates[1].verdict, Verdict::Passed);
  EXPECT_THAT(result.warnings, Contains(HasSubstr("Only one side recorded")));
}

RunItem kernel(std::string name, double ns) {
  return {true, std::move(name), "aten::mm", "", ns, ns, 1};
}

TEST(Compare, AKernelThatReplacesAnotherIsOneChange) {
  RunSummary base = run_of(1000, 1);
  RunSummary now = run_of(1000, 1);
  base.items = {kernel("old_gemm", 400), kernel("other", 100)};
  now.items = {kernel("new_gemm", 300), kernel("other", 100)};
  base.device_mean_ns = 500;
  now.device_mean_ns = 400;
  const Comparison result = compare_runs({base}, {now});
  ASSERT_EQ(result.device_work.size(), 2);
  EXPECT_EQ(result.device_work[0].status, ItemStatus::Replaced);
  EXPECT_EQ(result.device_work[0].item.name, "new_gemm");
  EXPECT_EQ(result.device_work[0].replaces, "old_gemm");
  EXPECT_EQ(result.device_work[0].delta_ns(), -100);
}

TEST(Compare, AnOperatorWithOtherShapesIsOneChange) {
  RunSummary base = run_of(1000, 1);
  RunSummary now = run_of(1000, 1);
  const auto product = [](std::string shapes, double ns) {
    RunItem item = {false, "aten::mm", "", "", ns, ns, 1};
    item.shapes = std::move(shapes);
    return item;
  };
  base.items = {product("[[64, 256], [256, 8]]", 400), product("[[8, 8], [8, 8]]", 100)};
  now.items = {product("[[64, 264], [264, 8]]", 410), product("[[8, 8], [8, 8]]", 100)};
  const Comparison result = compare_runs({base}, {now});
  ASSERT_EQ(result.host.size(), 2);
  EXPECT_EQ(result.host[0].status, ItemStatus::Replaced);
  EXPECT_EQ(result.host[0].replaces, "[[64, 256], [256, 8]]");
  EXPECT_EQ(result.host[0].delta_ns(), 10);
  for (const std::string& warning : result.warnings)
    EXPECT_EQ(warning.find("same program"), std::string::npos) << warning;
}

TEST(Compare, ChangesAddUpToTheWhole) {
  std::mt19937 random(5);
  Sides sides = split_runs(same_runs(), 5, random);
  for (std::vector<RunSummary>* const side : {&sides.base, &sides.now}) {
    for (RunSummary& run : *side) {
      run.device_mean_ns = 0;
      for (const RunItem& item : run.items) run.device_mean_ns += item.is_device ? item.mean_ns : 0;
    }
  }
  const Comparison result = compare_runs(sides.base, sides.now);
  double sum = 0;
  for (const ItemChange& item : result.device_work) sum += item.delta_ns();
  EXPECT_NEAR(sum, result.device_delta_ns, 1e-3);
}

TEST(Compare, SidesThatAreNotComparableAreToldFirst) {
  RunSummary base = run_of(1000, 1);
  RunSummary now = run_of(1000, 1);
  base.items = {{false, "aten::conv2d", "", "", 900, 900, 1}};
  now.items = {{false, "sort_records", "", "", 900, 900, 1}};
  base.devices = {"NVIDIA H200"};
  now.ranks = 4;
  const std::vector<std::string> warnings = compare_runs({base}, {now}).warnings;
  EXPECT_THAT(warnings, Contains(HasSubstr("same program")));
  EXPECT_THAT(warnings, Contains(HasSubstr("different devices")));
  EXPECT_THAT(warnings, Contains(HasSubstr("numbers of ranks")));
  now.items = {{true, "gemm", "", "", 900, 900, 1}};
  EXPECT_THAT(compare_runs({base}, {now}).warnings,
              Contains(HasSubstr("Only one side names its device, NVIDIA H200")));
}

TEST(Compare, RunsRecordedOneSideAfterTheOtherAreNoted) {
  std::vector<RunSummary> base(3, run_of(100, 1));
  std::vector<RunSummary> now(3, run_of(100, 1));
  for (int i = 0; i < 3; ++i) {
    base[static_cast<std::size_t>(i)].started_ns = 10 + i;
    now[static_cast<std::size_t>(i)].started_ns = 20 + i;
  }
  EXPECT_THAT(compare_runs(base, now).warnings, Contains(HasSubstr("in turns")));
  now[0].started_ns = 5;
  EXPECT_THAT(compare_runs(base, now).warnings, Not(Contains(HasSubstr("in turns"))));
}

TEST(Gates, AreParsedOrExplained) {
  EXPECT_EQ(parse_gate("step<5%")->limit, 0.05);
  EXPECT_EQ(parse_gate(" step < 5 % ")->text, "step<5%");
  EXPECT_TRUE(parse_gate("launches=0")->is_equal);
  for (const char* const wrong : {"", "step", "step<5", "step<x%", "nothing<5%", "step=0",
                                  "launches=3", "<5%", "step<-1%", "step<nan%", "step<5%%"})
    EXPECT_FALSE(parse_gate(wrong)) << wrong;
  EXPECT_THAT(parse_gate("spet<5%").error().message, HasSubstr("peak_memory"));
}

}  // namespace
}  // namespace sonde
