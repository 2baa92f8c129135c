// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/trace/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::sketch;

// A builder with one process and two threads.
class TraceBuilderTest : public ::testing::Test {
 protected:
  TraceBuilderTest() {
    const ProcessId process = builder.processes().push_back({.pid = 1});
    first = builder.tracks().push_back({.process = process, .id = 10});
    second = builder.tracks().push_back({.process = process, .id = 11});
  }
  SpanId add(TrackId track, Nanos start, Nanos end, std::string_view name) {
    return builder.spans().push_back({.start_ns = start,
                                      .duration_ns = end - start,
                                      .name = builder.intern(name),
                                      .track = track});
  }
  Trace build() {
    Result<Trace> trace = std::move(builder).build();
    EXPECT_TRUE(trace) << trace.error().message;
    return *std::move(trace);
  }

  TraceBuilder builder;
  TrackId first;
  TrackId second;
};

std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> result;
  for (const SpanId span : trace.all_spans()) result.emplace_back(trace.name(span));
  return result;
}

// "child<parent" for each span that has one, "root" for others, in row order.
std::vector<std::string> parents(const Trace& trace) {
  std::vector<std::string> result;
  for (const SpanId span : trace.all_spans()) {
    const SpanId parent = trace.spans().parent[span];
    std::string text(trace.name(span));
    if (parent.valid()) text += "<" + std::string(trace.name(parent));
    result.push_back(text);
  }
  return result;
}

std::uint64_t ledger_count(const Trace& trace, LedgerKind kind) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < trace.ledger().size(); ++i) {
    if (trace.ledger().kind[i] == kind) count += trace.ledger().count[i];
  }
  return count;
}

TEST_F(TraceBuilderTest, GroupsSpansByTrackAndOrdersThemByStart) {
  add(second, 5, 6, "d");
  add(first, 7, 9, "c");
  add(first, 1, 2, "a");
  add(second, 1, 2, "b");
  const Trace trace = build();
  EXPECT_THAT(names(trace), ElementsAre("a", "c", "b", "d"));
  EXPECT_EQ(trace.track_spans(first).size(), 2u);
  EXPECT_EQ(trace.name(trace.track_spans(second)[0]), "b");
}

TEST_F(TraceBuilderTest, PutsTheLongerOfTwoSpansWithOneStartFirst) {
  add(first, 1, 2, "short");
  add(first, 1, 9, "long");
  EXPECT_THAT(parents(build()), ElementsAre("long", "short<long"));
}

TEST_F(TraceBuilderTest, TakesTheEarlierFilledOfEqualSpansForTheOuterOne) {
  add(first, 5, 6, "late");
  add(first, 1, 3, "outer");
  add(first, 1, 3, "inner");
  EXPECT_THAT(parents(build()), ElementsAre("outer", "inner<outer", "late"));
}

TEST_F(TraceBuilderTest, LetsIdsFollowTheirSpans) {
  const SpanId late = add(first, 10, 20, "late");
  add(first, 1, 2, "early");
  builder.kernels().push_back({.span = late, .grid_x = 4});
  builder.flows().push_back({.from_span = late});
  builder.extras().push_back({.of_table = TableKind::Spans, .of_row = late.value()});
  const SpanId child = add(first, 12, 13, "child");
  builder.spans().parent.set(child, late);
  const Trace trace = build();
  EXPECT_EQ(trace.name(trace.kernels().span[0]), "late");
  EXPECT_EQ(trace.name(trace.flows().from_span[0]), "late");
  EXPECT_EQ(trace.name(SpanId(trace.extras().of_row[0])), "late");
  EXPECT_THAT(parents(trace), ElementsAre("early", "late", "child<late"));
}

TEST_F(TraceBuilderTest, PutsSpansWithoutATrackLast) {
  add(TrackId(), 1, 2, "lost");
  add(second, 5, 6, "kept");
  const Trace trace = build();
  EXPECT_THAT(names(trace), ElementsAre("kept", "lost"));
  EXPECT_EQ(trace.track_spans(TrackId()).size(), 1u);
}

TEST(Parents, AreTheInnermostSpansAround) {
  EXPECT_THAT(parents(sketch(R"(
      main  aaaaaaaaaa
      main  .bbbb.dd..
      main  ..cc......
  )")),
              ElementsAre("a", "b<a", "c<b", "d<a"));
}

TEST(Parents, AreNotFoundAcrossTracks) {
  EXPECT_THAT(parents(sketch(R"(
      thread1  aaaa
      thread2  .bb.
  )")),
              ElementsAre("a", "b"));
}

TEST(Parents, DoNotComeFromPartialOverlap) {
  EXPECT_THAT(parents(sketch(R"(
      main  aaaaaaaaaa
      main  .bbbb.....
      main  ...cccc...
      main  ....d.....
      main  .....e....
  )")),
              ElementsAre("a", "b<a", "c<a", "d<c", "e<c"));
}

TEST(Parents, EndBeforeTheNextSiblingBegins) {
  EXPECT_THAT(parents(sketch(R"(
      main  aabb
      main  ..c.
  )")),
              ElementsAre("a", "b", "c<b"));
}

TEST(Parents, AreTheLastRowsBeforeThemThatContainThem) {
  std::mt19937 random(7);
  TraceBuilder builder;
  const TrackId track = builder.tracks().push_back({.id = 1});
  for (int i = 0; i < 2'000; ++i) {
    const auto start = static_cast<Nanos>(random() % 500);
    builder.spans().push_back(
        {.start_ns = start, .duration_ns = static_cast<Nanos>(random() % 40), .track = track});
  }
  const Result<Trace> trace = std::move(builder).build();
  ASSERT_TRUE(trace);
  for (const SpanId span : trace->all_spans()) {
    SpanId expected;
    for (std::uint32_t row = 0; row < span.value(); ++row) {
      const Nanos end = trace->end_ns(SpanId(row));
      const bool contains = end >= trace->end_ns(span) && end > trace->spans().start_ns[span];
      if (contains) expected = SpanId(row);
    }
    ASSERT_EQ(trace->spans().parent[span], expected) << span.value();
  }
}

TEST(Parents, AreNotLookedForOnStreams) {
  EXPECT_THAT(parents(sketch(R"(
      gpu0/stream7  aaaa
      gpu0/stream7  .bb.
  )")),
              ElementsAre("a", "b"));
}

TEST_F(TraceBuilderTest, LeavesAsyncSpansOutOfNesting) {
  const SpanId async = add(first, 1, 9, "async");
  builder.spans().flags.set(async, SpanFlags::kAsync);
  add(first, 2, 3, "op");
  EXPECT_THAT(parents(build()), ElementsAre("async", "op"));
}

TEST_F(TraceBuilderTest, KeepsAParentThatWasGiven) {
  const SpanId other = add(first, 1, 2, "other");
  add(second, 1, 9, "around");
  const SpanId child = add(second, 3, 4, "child");
  builder.spans().parent.set(child, other);
  EXPECT_THAT(parents(build()), ElementsAre("other", "around", "child<other"));
}

TEST_F(TraceBuilderTest, BreaksCyclesOfParents) {
  const SpanId a = add(first, 1, 2, "a");
  const SpanId b = add(first, 3, 4, "b");
  builder.spans().parent.set(a, b);
  builder.spans().parent.set(b, a);
  const SpanId self = add(first, 5, 6, "self");
  builder.spans().parent.set(self, self);
  const Trace trace = build();
  EXPECT_THAT(parents(trace), ElementsAre("a", "b<a", "self"));
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 2u);
}

TEST_F(TraceBuilderTest, BreaksCyclesOfStacksAndModules) {
  builder.stacks().push_back({.parent = StackId(1)});
  builder.stacks().push_back({.parent = StackId(0)});
  builder.modules().push_back({.parent = ModuleId(0)});
  const Trace trace = build();
  EXPECT_FALSE(trace.stacks().parent[0].valid());
  EXPECT_EQ(trace.stacks().parent[1], StackId(0));
  EXPECT_FALSE(trace.modules().parent[0].valid());
}

TEST_F(TraceBuilderTest, ClearsIdsOfRowsThatDoNotExistAndCountsThem) {
  builder.spans().push_back({.name = StringId(99), .track = TrackId(7), .stack = StackId(0)});
  builder.kernels().push_back({.span = SpanId(1)});
  builder.extras().push_back({.of_table = TableKind::Kernels, .of_row = 1});
  const Trace trace = build();
  EXPECT_FALSE(trace.spans().name[0].valid());
  EXPECT_FALSE(trace.spans().track[0].valid());
  EXPECT_FALSE(trace.spans().stack[0].valid());
  EXPECT_FALSE(trace.kernels().span[0].valid());
  EXPECT_EQ(trace.extras().of_row[0], trace.extras().of_row.null_value());
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 5u);
  EXPECT_THAT(std::string(trace.string(trace.ledger().detail[0])), HasSubstr("spans.name"));
}

TEST_F(TraceBuilderTest, ClearsNumbersThatAreNoEnumerator) {
  const SpanId span = add(first, 1, 2, "a");
  builder.spans().kind.set(span, static_cast<SpanKind>(200));
  const Trace trace = build();
  EXPECT_EQ(trace.spans().kind[0], SpanKind::Scope);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 1u);
}

TEST_F(TraceBuilderTest, ClearsListsOfDimensionsThatLeaveTheirTable) {
  builder.dims().push_back({.value = 3});
  builder.op_arguments().push_back({.dims_first = DimId(0), .dims_count = 1});
  builder.op_arguments().push_back({.dims_first = DimId(0), .dims_count = 2});
  builder.op_arguments().push_back({.dims_count = std::numeric_limits<std::int32_t>::max()});
  builder.op_arguments().push_back({.dims_count = 0});
  const Trace trace = build();
  EXPECT_EQ(trace.op_arguments().dims_count[0], 1);
  EXPECT_EQ(trace.op_arguments().dims_count[1], -1);
  EXPECT_EQ(trace.op_arguments().dims_count[2], -1);
  EXPECT_EQ(trace.op_arguments().dims_count[3], 0);
}

TEST_F(TraceBuilderTest, ClearsListsOfArgumentsThatLeaveTheirTable) {
  const OpArgumentId only = builder.op_arguments().push_back({.kind = ArgumentKind::Scalar});
  builder.argument_lists().push_back({.first = only, .count = 1});
  builder.argument_lists().push_back({.first = only, .count = 2});
  builder.argument_lists().push_back({.first = only, .count = -7});
  builder.spans().arguments.set(add(first, 1, 2, "whole"), ArgumentListId(0));
  builder.spans().arguments.set(add(first, 3, 4, "cut"), ArgumentListId(1));
  builder.spans().arguments.set(add(first, 5, 6, "negative"), ArgumentListId(2));
  const Trace trace = build();
  EXPECT_EQ(trace.arguments(SpanId(0)).size(), 1u);
  EXPECT_TRUE(trace.arguments(SpanId(1)).empty());
  EXPECT_TRUE(trace.arguments(SpanId(2)).empty());
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 2u);
}

TEST_F(TraceBuilderTest, MakesTimesSuchThatNoDifferenceOverflows) {
  constexpr Nanos kMin = std::numeric_limits<Nanos>::min();
  constexpr Nanos kMax = std::numeric_limits<Nanos>::max();
  builder.spans().push_back({.start_ns = kMin, .duration_ns = kMax, .track = first});
  builder.spans().push_back({.start_ns = kMax, .duration_ns = kMax, .track = first});
  builder.spans().push_back({.start_ns = 5, .duration_ns = -1, .track = first});
  const Trace trace = build();
  EXPECT_GT(trace.last_ns() - trace.first_ns(), 0);
  for (const SpanId span : trace.all_spans()) {
    EXPECT_GE(trace.end_ns(span), trace.spans().start_ns[span]);
  }
  EXPECT_EQ(trace.spans().duration_ns[1], 0);
  EXPECT_GE(ledger_count(trace, LedgerKind::Undecodable), 4u);
}

TEST_F(TraceBuilderTest, RefusesColumnsOfDifferentLengths) {
  add(first, 1, 2, "a");
  builder.spans().start_ns.push_back(3);
  const Result<Trace> trace = std::move(builder).build();
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::Invalid);
  EXPECT_THAT(trace.error().message, HasSubstr("spans.duration_ns"));
}

TEST_F(TraceBuilderTest, JoinsTablesThatWereFilledApart) {
  SpanTable local;
  local.push_back({.start_ns = 4, .duration_ns = 1, .track = second});
  add(first, 1, 2, "a");
  builder.spans().append(std::move(local));
  const Trace trace = build();
  ASSERT_EQ(trace.spans().size(), 2u);
  EXPECT_EQ(trace.spans().start_ns[1], 4);
}

TEST_F(TraceBuilderTest, KnowsTheFirstAndTheLastTime) {
  add(first, 10, 20, "a");
  builder.instants().push_back({.time_ns = 5});
  builder.windows().push_back({.start_ns = 8, .end_ns = 30});
  const Trace trace = build();
  EXPECT_EQ(trace.first_ns(), 5);
  EXPECT_EQ(trace.last_ns(), 30);
}

TEST(TraceBuilder, MakesAnEmptyTrace) {
  const Result<Trace> trace = TraceBuilder().build();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->all_spans().empty());
  EXPECT_EQ(trace->first_ns(), 0);
  EXPECT_TRUE(trace->track_spans(TrackId(3)).empty());
}

TEST(Trace, IsEmptyByDefaultAndCheapToCopy) {
  const Trace trace = sketch("main aa");
  const Trace copy = trace;
  EXPECT_EQ(&copy.spans(), &trace.spans());
  EXPECT_TRUE(Trace().spans().empty());
  EXPECT_TRUE(Trace().track_spans(TrackId(0)).empty());
}

}  // namespace
}  // namespace sonde
