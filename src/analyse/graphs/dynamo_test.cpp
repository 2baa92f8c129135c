// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/dynamo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyse/testing/op_trace.h"

namespace sonde::dynamo {
namespace {

using sonde::testing::OpTrace;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ProfileMetrics, AddEverythingButGraphs) {
  ProfileMetrics sum = {1, 2, 3, 4};
  sum += {10, 20, 30, 40};
  EXPECT_EQ(sum.microseconds, 11);
  EXPECT_EQ(sum.operators, 22);
  EXPECT_EQ(sum.fusions, 33);
  EXPECT_EQ(sum.graphs, 4) << "PyTorch's += leaves them as they are";
  EXPECT_EQ((sum + ProfileMetrics{1, 1, 1, 1}).graphs, 0) << "and its + forgets them";
}

TEST(ProfileMetrics, AreDividedByAtLeastOne) {
  const ProfileMetrics quotient = ProfileMetrics{8, 6, 4, 2} / ProfileMetrics{4, 0, 0.5, 0};
  EXPECT_EQ(quotient.microseconds, 2);
  EXPECT_EQ(quotient.operators, 6);
  EXPECT_EQ(quotient.fusions, 4);
  EXPECT_EQ(quotient.graphs, 0);
  EXPECT_EQ((ProfileMetrics{8, 6, 4, 2} / 2).operators, 3);
  EXPECT_EQ((ProfileMetrics{8, 6, 4, 2} / 0).operators, 6);
}

TEST(ProfileMetrics, PrintAsPythonPrintsShares) {
  EXPECT_EQ(to_string(ProfileMetrics{0.805, 0.5, 0, 0}), " 50% ops  80% time");
  EXPECT_EQ(to_string(ProfileMetrics{1, 12.3, 0, 0}), "1230% ops 100% time");
  EXPECT_THAT((ProfileMetrics{0.5, 0.25, 0, 0}).tocsv(), ElementsAre(0.25, 0.5));
}

// Two operators in a graph, one of which calls another, and one operator outside.
EventList one_region() {
  OpTrace t;
  t.annotation("TORCHDYNAMO", 0, 100);
  t.op("aten::linear", 10, 50);
  t.op("aten::addmm", 20, 40);
  t.op("aten::relu", 60, 90);
  t.op("aten::sum", 110, 120)
      .stack({"<built-in method sum>", "site-packages/torch/x.py(1): f", "d.py(4): c", "c.py(3): b",
              "b.py(2): a", "a.py(1): main"});
  t.runtime("cudaDeviceSynchronize", 130, 500);
  return function_events(t.build());
}

TEST(ProfileResult, CountsAsPyTorchCounts) {
  const ProfileResult result = profile_result(one_region(), 1);
  EXPECT_EQ(result.captured.operators, 2) << "aten::addmm is part of aten::linear";
  EXPECT_EQ(result.captured.microseconds, 70);
  EXPECT_EQ(result.captured.graphs, 1);
  EXPECT_EQ(result.captured.fusions, 1);
  EXPECT_EQ(result.total.microseconds, 80) << "a call of the runtime is no operator";
  EXPECT_EQ(result.unique_graphs, 1);
}

TEST(ProfileResult, HasPyTorchsTwoOperatorsLessInTotal) {
  const ProfileResult result = profile_result(one_region(), 1);
  EXPECT_EQ(result.total.operators, 3 - 1 - 1) << "one for the region, one at the end";
  EXPECT_EQ(result.total.fusions, 0);
  EXPECT_EQ(result.percent().operators, 2) << "so that more than all can be captured";
}

TEST(ProfileResult, OfAnOperatorThatOutlivesTheRegionIsNotCaptured) {
  OpTrace t;
  t.annotation("TORCHDYNAMO", 0, 100);
  t.op("aten::mm", 100, 130);
  const ProfileResult result = profile_result(function_events(t.build()), 1);
  EXPECT_EQ(result.captured.operators, 0);
}

TEST(ProfileResult, PrintsAsPythonDoes) {
  ProfileResult result = {{70, 12, 8, 4}, {100, 20, 19, 0}, 2};
  EXPECT_EQ(to_string(result), " 2 graphs  4 graph calls   12/  20 =  60% ops  70% time");
  EXPECT_THAT(result.tocsv(), ElementsAre(2, 4, 12, 20, 0.6, 0.7));
  result += result;
  EXPECT_EQ(result.unique_graphs, 4);
  EXPECT_EQ(result.captured.graphs, 4) << "as ProfileMetrics adds";
  EXPECT_EQ(result.total.operators, 40);
}

TEST(Missing, HasTheOutermostThreeCallersThatAreNotTorchs) {
  EXPECT_THAT(missing_lines(one_region()),
              ElementsAre("MISSING c.py(3): b >> b.py(2): a >> a.py(1): main"));
}

TEST(Missing, SaysNothingOfTheProfilerAndEachLineOnce) {
  EXPECT_THAT(missing_line({"x/torch/autograd/profiler.py(1): f", "a.py(1): main"}), IsEmpty());
  OpTrace t;
  t.op("aten::mm", 0, 10).stack({"a.py(1): main"});
  t.op("aten::sum", 20, 30).stack({"a.py(1): main"});
  EXPECT_THAT(missing_lines(function_events(t.build())), ElementsAre("MISSING a.py(1): main"));
}

}  // namespace
}  // namespace sonde::dynamo
