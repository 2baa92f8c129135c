// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/dynamo_profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "profiler/testing/fake_session.h"

namespace sonde::dynamo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

void marked_op() {
  SONDE_SCOPE("op");
}

// Takes as long as the clock needs to move, where one call of marked_op() may take no time at all.
void longer_op() {
  SONDE_SCOPE("op");
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(1)) {
  }
}

TEST(DynamoProfiler, CountsCallsOfMarkedGraphsAndTheGraphs) {
  auto first = insert_profiling([](int x) {
    marked_op();
    return x + 1;
  });
  auto second = insert_profiling([] { marked_op(); });
  Profiler prof;
  prof.start();
  EXPECT_EQ(first(1), 2);
  EXPECT_EQ(first(2), 3);
  second();
  longer_op();
  const ProfileResult result = prof.results();
  EXPECT_EQ(result.unique_graphs, 2);
  EXPECT_EQ(result.captured.graphs, 3);
  EXPECT_EQ(result.captured.operators, 3);
  EXPECT_GT(result.total.microseconds, result.captured.microseconds);
}

TEST(DynamoProfiler, ForgetsTheGraphsItHasCounted) {
  auto graph = insert_profiling([] { marked_op(); });
  Profiler first;
  first.start();
  graph();
  EXPECT_EQ(first.results().unique_graphs, 1);
  Profiler second;
  second.start();
  graph();
  EXPECT_EQ(second.results().unique_graphs, 0);
}

TEST(InsertProfiling, HandsReferencesThrough) {
  int value = 1;
  auto graph = insert_profiling([](int& x) -> int& { return x; });
  graph(value) = 5;
  EXPECT_EQ(value, 5);
}

TEST(ShouldPrintMissing, IsAskedForInTheEnvironment) {
  ::unsetenv("TORCHDYNAMO_PRINT_MISSING");
  EXPECT_FALSE(should_print_missing());
  ::setenv("TORCHDYNAMO_PRINT_MISSING", "1", 1);
  EXPECT_TRUE(should_print_missing());
  sonde::testing::CapturedMessages messages;
  Profiler prof;
  prof.start();
  marked_op();
  prof.results();
  ::unsetenv("TORCHDYNAMO_PRINT_MISSING");
  EXPECT_THAT(messages.take(), Contains(HasSubstr("MISSING")));
}

}  // namespace
}  // namespace sonde::dynamo
