// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::sketch;

Trace built(TraceBuilder builder) {
  Result<Trace> trace = std::move(builder).build();
  EXPECT_TRUE(trace);
  return *std::move(trace);
}

TEST(Dump, ShowsTablesWithTheirValues) {
  TraceBuilder builder;
  builder.instants().push_back({.time_ns = 1'000, .name = builder.intern("mark")});
  builder.counters().push_back({.time_ns = 3'500, .name = builder.intern("loss"), .value = 0.25});
  builder.metadata().push_back({.key = builder.intern("k"), .value = builder.intern("{\"a\":1}")});
  builder.add_ledger(LedgerKind::DroppedByBudget, 17, "main", "full");
  EXPECT_EQ(dump_text(built(std::move(builder))),
            "trace of 2.500 µs, 0 spans\n"
            "counters (1):\n"
            "  time_ns=2.500 µs name=\"loss\" value=0.25\n"
            "instants (1):\n"
            "  time_ns=0.000 µs name=\"mark\"\n"
            "metadata (1):\n"
            "  key=\"k\" value=\"{\\\"a\\\":1}\"\n"
            "ledger (1):\n"
            "  kind=dropped_by_budget source=\"main\" count=17 detail=\"full\"\n");
}

TEST(Dump, ShowsWhatElseASpanHas) {
  TraceBuilder builder;
  const TrackId track = builder.tracks().push_back({.id = 5});
  builder.spans().push_back({.duration_ns = 1,
                             .name = builder.intern("aten::mm"),
                             .track = track,
                             .kind = SpanKind::CpuOp,
                             .sequence_number = 9});
  EXPECT_THAT(dump_text(built(std::move(builder))),
              HasSubstr("  0.000 µs +0.001 µs aten::mm [cpu_op] sequence_number=9\n"));
}

TEST(Dump, KeepsOneLineALine) {
  TraceBuilder builder;
  const TrackId track = builder.tracks().push_back({.id = 5});
  builder.spans().push_back({.name = builder.intern("a\nb\x01"), .track = track});
  EXPECT_THAT(dump_text(built(std::move(builder))), HasSubstr("a\\nb\\x01\n"));
}

TEST(Dump, StopsWhenNobodyListens) {
  int lines = 0;
  dump_text(sketch("main a.b.c.d"), [&lines](std::string_view) { return ++lines < 2; });
  EXPECT_EQ(lines, 2);
}

TEST(Dump, BoundsTheIndentOfDeepSpans) {
  TraceBuilder builder;
  const TrackId track = builder.tracks().push_back({.id = 5});
  for (Nanos i = 0; i < 1'000; ++i) {
    builder.spans().push_back({.start_ns = i, .duration_ns = 5'000 - 2 * i, .track = track});
  }
  std::size_t longest = 0;
  dump_text(built(std::move(builder)), [&longest](std::string_view line) {
    longest = std::max(longest, line.size());
    return true;
  });
  EXPECT_LT(longest, 150u);
}

TEST(Dump, ShowsSpansWithoutATrack) {
  TraceBuilder builder;
  builder.spans().push_back({.name = builder.intern("lost")});
  EXPECT_THAT(dump_text(built(std::move(builder))),
              HasSubstr("no track:\n  0.000 µs +0.000 µs lost\n"));
}

}  // namespace
}  // namespace sonde
