// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recording what the program marks by cudaProfilerStart() and cudaProfilerStop().

#include <gmock/gmock.h>

#include "launched.h"

namespace sonde::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Captures, AreTheWindowsOfTheRecording) {
  const TempDir dir;
  Launched run(
      dir, sonde_run({"--capture-range", "cuda-profiler", "-o", "run.sonde", "--", RUN_CAPTURES}));
  EXPECT_EQ(run.wait(), 0) << run.errors();
  EXPECT_EQ(run.output(), "2 starts, 2 stops, 0 failures\n");
  const Result<Trace> trace = open_sonde(dir.file("run.sonde"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->windows().size(), 2u);
  std::vector<std::string> names;
  for (const SpanId span : trace->all_spans()) names.emplace_back(trace->name(span));
  EXPECT_THAT(names, ElementsAre("first", "second"));
}

TEST(Captures, AreNotHeededUnlessAskedFor) {
  const TempDir dir;
  Launched run(dir, sonde_run({"-o", "run.sonde", "--", RUN_CAPTURES}));
  EXPECT_EQ(run.wait(), 0) << run.errors();
  EXPECT_EQ(run.output(), "2 starts, 2 stops, 0 failures\n");
  EXPECT_EQ(spans_in(dir.file("run.sonde"), "between"), 1u);
}

TEST(Captures, ThatNeverBeginAreExplained) {
  const TempDir dir;
  Launched run(dir, sonde_run({"--capture-range", "cuda-profiler", "-o", "run.sonde", "--",
                               RUN_SCOPES, "work", "3", "0"}));
  run.wait();
  EXPECT_THAT(run.errors(), HasSubstr("never called cudaProfilerStart"));
}

}  // namespace
}  // namespace sonde::testing
