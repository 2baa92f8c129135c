// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// To which group the collectives of gloo belong, whose records do not say it.

#include <gtest/gtest.h>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/job.h"

namespace sonde {
namespace {

using testing::OpTrace;

// Each group has two threads, which take its calls in turns. Another rank of the host was given the
// numbers between.
//
// thread 9381  a . . . . . . .      the group of all ranks
//        9382  . . . . b . . .
//        9385  . . c . . . . .      a group of two
//        9388  . . . . . . d .
TEST(HostCollectives, BelongToGroupsThatHaveAsManyThreadsEach) {
  OpTrace t;
  TraceBuilder& b = t.builder();
  const char* listed =
      R"({"pg_config": [{"pg_name": "0", "ranks": [0, 1, 2, 3]}, {"pg_name": "1", "ranks": [0, 1]}]})";
  b.metadata().push_back({ProcessId(0), b.intern("distributedInfo"), b.intern(listed)});
  Nanos at_us = 0;
  for (const std::int64_t number : {9381, 9385, 9382, 9388}) {
    t.span("gloo:all_reduce", SpanKind::UserAnnotation, t.thread(number), at_us, at_us + 50);
    at_us += 100;
  }
  const std::vector<RankSummary> ranks = summarise_ranks(t.build());
  ASSERT_EQ(ranks.size(), 1U);
  std::vector<std::uint32_t> groups;
  for (const RankCollective& one : ranks.front().collectives)
    groups.push_back(ranks.front().kinds[one.kind].group);
  EXPECT_EQ(groups, (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

}  // namespace
}  // namespace sonde
