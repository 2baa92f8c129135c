// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/trace/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::sketch;

std::vector<std::string> span_names(const Trace& trace) {
  std::vector<std::string> all;
  for (const SpanId span : trace.all_spans()) all.emplace_back(trace.name(span));
  return all;
}

Trace part_taken(const Trace& trace, const TracePart& part) {
  const Result<Trace> result = part_of(trace, part);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Trace();
}

const char* const kTwoThreads = R"(
    main   aaaaaaaaaaaa
    main   .bb..cc..dd.
    other  eee......fff
)";

TEST(TracePart, KeepsWhatOverlapsItWhole) {
  const Trace trace = sketch(kTwoThreads);
  const Trace part = part_taken(trace, {.from_ns = 5'500, .to_ns = 6'500});
  EXPECT_THAT(span_names(part), ElementsAre("a", "c"));
  EXPECT_EQ(part.spans().duration_ns[0], 12'000);
  EXPECT_EQ(part.spans().parent[1], SpanId(0));
}

TEST(TracePart, SaysHowMuchItLeftOut) {
  const Trace part = part_taken(sketch(kTwoThreads), {.from_ns = 5'500, .to_ns = 6'500});
  ASSERT_EQ(part.ledger().size(), 1u);
  EXPECT_EQ(part.ledger().count[0], 4u);
}

TEST(TracePart, CountsFromTheEnd) {
  EXPECT_THAT(span_names(part_taken(sketch(kTwoThreads), {.last_ns = 500})), ElementsAre("a", "f"));
}

TEST(TracePart, OfAThreadHasNoOther) {
  EXPECT_THAT(span_names(part_taken(sketch(kTwoThreads), {.threads = {"other"}})),
              ElementsAre("e", "f"));
}

TEST(TracePart, OfSomeKindsHasNoOther) {
  const Trace trace = sketch(kTwoThreads);
  EXPECT_THAT(span_names(part_taken(trace, {.kinds = {{SpanKind::CpuOp}}})), IsEmpty());
  EXPECT_THAT(span_names(part_taken(trace, {.kinds = {{trace.spans().kind[0]}}})), SizeIs(6));
}

TEST(TracePart, LeavesOutWhatBeginsInAGap) {
  const Trace trace = sketch(kTwoThreads);
  const Nanos begin = trace.first_ns();
  const TraceGap gap{begin + 3'500, begin + 8'500, true, false};
  EXPECT_THAT(span_names(part_taken(trace, {.gaps = {gap}})), ElementsAre("a", "b", "d", "e", "f"));
  const TraceGap of_devices{begin, begin + 20'000, false, true};
  EXPECT_THAT(span_names(part_taken(trace, {.gaps = {of_devices}})), SizeIs(6));
}

TEST(TracePart, LeavesOutWorkWithTheCallThatLaunchedIt) {
  TraceBuilder builder;
  const TrackId track = builder.tracks().push_back({});
  SpanRow call;
  call.name = builder.intern("cudaLaunchKernel");
  call.kind = SpanKind::CudaRuntime;
  call.track = track;
  call.duration_ns = 10;
  call.correlation = 7;
  builder.spans().push_back(call);
  SpanRow kernel;
  kernel.name = builder.intern("kernel");
  kernel.kind = SpanKind::Kernel;
  kernel.track = builder.tracks().push_back({.kind = TrackKind::Stream});
  kernel.start_ns = 1000;
  kernel.correlation = 7;
  builder.spans().push_back(kernel);
  const Trace trace = *std::move(builder).build();
  EXPECT_THAT(span_names(part_taken(trace, {.gaps = {{0, 100, false, true}}})), IsEmpty());
  EXPECT_THAT(span_names(part_taken(trace, {.gaps = {{0, 100, true, false}}})), SizeIs(2));
}

TEST(TracePart, OfAnUnknownThreadOrStepFails) {
  EXPECT_FALSE(part_of(sketch(kTwoThreads), {.threads = {"nobody"}}));
  const auto steps = part_of(sketch(kTwoThreads), {.steps = std::pair(1L, 2L)});
  ASSERT_FALSE(steps);
  EXPECT_EQ(steps.error().message, "the trace has no steps");
  EXPECT_FALSE(part_of(sketch(kTwoThreads), {.from_ns = 7'000, .to_ns = 3'000}));
}

TEST(TracePart, OfEverythingIsTheTraceItself) {
  const Trace trace = sketch(kTwoThreads);
  EXPECT_EQ(&part_taken(trace, {}).spans(), &trace.spans());
}

// Three steps of 10 ns, each with an operator, an allocation in it, an instant, and an extra.
Trace three_steps() {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId track = builder.tracks().push_back({.process = process, .id = 2});
  for (std::int64_t step = 5; step < 8; ++step) {
    const Nanos start = step * 10;
    SpanRow row;
    row.start_ns = start;
    row.duration_ns = 10;
    row.track = track;
    row.kind = SpanKind::Step;
    row.step = step;
    row.name = builder.intern("ProfilerStep#" + std::to_string(step));
    builder.spans().push_back(row);
    row.start_ns = start + 2;
    row.duration_ns = 3;
    row.kind = SpanKind::CpuOp;
    row.step = -1;
    row.name = builder.intern("op" + std::to_string(step));
    const SpanId op = builder.spans().push_back(row);
    AllocationRow allocation;
    allocation.time_ns = start + 3;
    allocation.track = track;
    allocation.bytes = step;
    allocation.span = op;
    builder.allocations().push_back(allocation);
    InstantRow instant;
    instant.time_ns = start + 4;
    instant.track = track;
    instant.span = op;
    builder.instants().push_back(instant);
    builder.extras().push_back({TableKind::Instants,
                                static_cast<std::uint32_t>(builder.instants().size() - 1),
                                builder.intern("key"), builder.intern(std::to_string(step))});
  }
  return *std::move(builder).build();
}

TEST(TracePart, OfAStepHasAllThatBelongsToIt) {
  const Trace part = part_taken(three_steps(), {.steps = std::pair(6L, 6L)});
  EXPECT_THAT(span_names(part), ElementsAre("ProfilerStep#6", "op6"));
  ASSERT_EQ(part.allocations().size(), 1u);
  EXPECT_EQ(part.allocations().bytes[0], 6);
  EXPECT_EQ(part.name(part.allocations().span[0]), "op6");
  ASSERT_EQ(part.extras().size(), 1u);
  EXPECT_EQ(part.extras().of_row[0], 0u);
  EXPECT_EQ(part.string(part.extras().value[0]), "6");
  const auto none = part_of(three_steps(), {.steps = std::pair(8L, 9L)});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no such step; the trace has steps 5 to 7");
}

}  // namespace
}  // namespace sonde
