// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/trace/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::sketch;

Trace joined(const std::vector<std::pair<Trace, TraceJoinOptions>>& traces) {
  TraceJoin join;
  for (const auto& [trace, options] : traces) join.add(trace, options);
  Result<Trace> all = std::move(join).build();
  EXPECT_TRUE(all) << all.error().message;
  return all ? *all : Trace();
}

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> all;
  for (const SpanId span : trace.all_spans()) all.emplace_back(trace.name(span));
  return all;
}

// An operator, its launch and its kernel, with the same numbers in every process.
Trace one_launch(const std::string& kernel) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 7});
  const TrackId host = builder.tracks().push_back({.process = process, .id = 7});
  TrackRow stream;
  stream.process = process;
  stream.kind = TrackKind::Stream;
  stream.device_index = 0;
  const TrackId device = builder.tracks().push_back(stream);
  const auto add = [&](TrackId track, Nanos start_ns, SpanKind kind, const std::string& name) {
    SpanRow span;
    span.start_ns = start_ns;
    span.duration_ns = 10;
    span.name = builder.intern(name);
    span.track = track;
    span.kind = kind;
    span.correlation = 5;
    return builder.spans().push_back(span);
  };
  add(host, 100, SpanKind::CudaRuntime, "cudaLaunchKernel");
  const SpanId work = add(device, 120, SpanKind::Kernel, kernel);
  builder.kernels().push_back({.span = work, .grid_x = 3});
  ExtraRow extra;
  extra.of_table = TableKind::Kernels;
  extra.of_row = 0;
  extra.key = builder.intern("of " + kernel);
  builder.extras().push_back(extra);
  Result<Trace> trace = std::move(builder).build();
  EXPECT_TRUE(trace) << trace.error().message;
  return *trace;
}

TEST(TraceJoin, KeepsEverySpanInItsOwnProcess) {
  const Trace all = joined({{sketch("main aabb\nmain c..."), {.rank = 0}},
                            {sketch("main aadd\nother ee.."), {.rank = 1}}});
  EXPECT_THAT(names_of(all), ElementsAre("a", "c", "b", "a", "d", "e"));
  ASSERT_EQ(all.processes().size(), 2u);
  EXPECT_EQ(all.processes().rank[0], 0);
  EXPECT_EQ(all.processes().rank[1], 1);
  EXPECT_EQ(all.tracks().process[2], ProcessId(1));
  EXPECT_EQ(all.spans().parent[1], SpanId(0));
  EXPECT_TRUE(all.ledger().empty());
}

TEST(TraceJoin, LinksWorkToTheCallOfItsOwnRank) {
  const Trace all = joined({{one_launch("k0"), {.rank = 0}}, {one_launch("k1"), {.rank = 1}}});
  EXPECT_THAT(names_of(all), ElementsAre("cudaLaunchKernel", "k0", "cudaLaunchKernel", "k1"));
  EXPECT_EQ(all.spans().launch[1], SpanId(0));
  EXPECT_EQ(all.spans().launch[3], SpanId(2));
  EXPECT_EQ(all.kernels().span[1], SpanId(3));
  EXPECT_EQ(all.extras().of_row[1], 1u);
  EXPECT_EQ(all.string(all.extras().key[1]), "of k1");
}

TEST(TraceJoin, PutsTimesOnTheCommonClock) {
  const Trace late = sketch("main .aaaa\nmain ..bb.");
  const Trace all = joined(
      {{sketch("main c"), {.rank = 0}},
       {late, {.rank = 1, .clock = {.offset_ns = -500, .drift = 0.001, .origin_ns = 1'000}}}});
  EXPECT_EQ(all.spans().start_ns[1], 500);
  EXPECT_EQ(all.spans().duration_ns[1], 4'004);
  EXPECT_EQ(all.spans().parent[2], SpanId(1));
  EXPECT_EQ(all.processes().clock_offset_ns[1], -500);
}

TEST(TraceJoin, GivesTracksWithoutAProcessOneForEachTrace) {
  TraceBuilder builder;
  builder.tracks().push_back({});
  Result<Trace> trace = std::move(builder).build();
  ASSERT_TRUE(trace);
  const Trace all = joined({{*trace, {.rank = 0}}, {*trace, {.rank = 1}}});
  EXPECT_EQ(all.tracks().process[0], ProcessId(0));
  EXPECT_EQ(all.tracks().process[1], ProcessId(1));
  EXPECT_EQ(all.processes().rank[1], 1);
}

TEST(TraceJoin, OfNothingIsEmpty) {
  EXPECT_EQ(joined({}).spans().size(), 0u);
}

}  // namespace
}  // namespace sonde
