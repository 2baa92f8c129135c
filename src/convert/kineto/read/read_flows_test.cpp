// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/read_kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert/testing/read_text.h"

namespace sonde {
namespace {

using testing::extra;
using testing::ledger_count;
using testing::read_events;

TEST(KinetoFlows, JoinsFlowsOfOneId) {
  const Trace trace = read_events(R"(
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 9, "tid": 9, "ts": 1, "dur": 2},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 9, "tid": 9, "ts": 1},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4, "dur": 1},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 4, "bp": "e"},
    {"ph": "X", "cat": "kernel", "name": "l", "pid": 0, "tid": 7, "ts": 6, "dur": 1},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 6, "bp": "e"},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 6, "pid": 9, "tid": 9, "ts": 2, "bp": "e"})");
  const FlowTable& flows = trace.flows();
  ASSERT_EQ(flows.size(), 3U);
  EXPECT_EQ(flows.from_span[FlowId(0)], SpanId(0));
  EXPECT_EQ(flows.from_span[FlowId(1)], SpanId(0));
  EXPECT_EQ(flows.to_span[FlowId(0)], SpanId(1));
  EXPECT_EQ(flows.to_span[FlowId(1)], SpanId(2));
  EXPECT_FALSE(flows.from_span[FlowId(2)].valid());
  EXPECT_EQ(flows.to_span[FlowId(2)], SpanId(0)) << "the span around it";
  EXPECT_EQ(flows.kind[FlowId(0)], FlowKind::CpuToGpu);
}

TEST(KinetoFlows, LinksStepsOfAFlowOneAfterTheOther) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "tid": 1, "ts": 1, "dur": 1}, {"ph": "s", "id": "0x1", "tid": 1, "ts": 1},
    {"ph": "X", "name": "b", "tid": 2, "ts": 3, "dur": 1}, {"ph": "t", "id": "0x1", "tid": 2, "ts": 3},
    {"ph": "X", "name": "c", "tid": 3, "ts": 5, "dur": 1}, {"ph": "f", "id": "0x1", "tid": 3, "ts": 5})");
  ASSERT_EQ(trace.flows().size(), 2U);
  EXPECT_EQ(trace.flows().from_span[FlowId(0)], SpanId(0));
  EXPECT_EQ(trace.flows().to_span[FlowId(0)], SpanId(1));
  EXPECT_EQ(trace.flows().from_span[FlowId(1)], SpanId(1));
  EXPECT_EQ(trace.flows().to_span[FlowId(1)], SpanId(2));
  EXPECT_EQ(extra(trace, "event.id"), "\"0x1\"");
}

TEST(KinetoFlows, LeadsAFlowOnFromWhereOneOfItsNumberEnds) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "tid": 1, "ts": 1, "dur": 1}, {"ph": "s", "id": 1, "tid": 1, "ts": 1},
    {"ph": "X", "name": "b", "tid": 2, "ts": 3, "dur": 1}, {"ph": "s", "id": 1, "tid": 2, "ts": 3},
    {"ph": "f", "id": 1, "tid": 2, "ts": 3, "bp": "e"},
    {"ph": "X", "name": "c", "tid": 3, "ts": 5, "dur": 1}, {"ph": "f", "id": 1, "tid": 3, "ts": 5})");
  ASSERT_EQ(trace.flows().size(), 2U);
  EXPECT_EQ(trace.flows().from_span[FlowId(0)], SpanId(0));
  EXPECT_EQ(trace.flows().to_span[FlowId(0)], SpanId(1));
  EXPECT_EQ(trace.flows().from_span[FlowId(1)], SpanId(1));
  EXPECT_EQ(trace.flows().to_span[FlowId(1)], SpanId(2));
}

TEST(KinetoFlows, KeepsAStepOfAFlowThatComesFromNowhere) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "ts": 1, "dur": 1}, {"ph": "t", "id": 1, "ts": 1})");
  ASSERT_EQ(trace.flows().size(), 2U);
  EXPECT_FALSE(trace.flows().from_span[FlowId(0)].valid());
  EXPECT_EQ(trace.flows().to_span[FlowId(0)], SpanId(0));
  EXPECT_EQ(trace.flows().from_span[FlowId(1)], SpanId(0));
  EXPECT_FALSE(trace.flows().to_span[FlowId(1)].valid());
}

TEST(KinetoFlows, KeepsWhatTheEventsOfAFlowSayBesides) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "tid": 1, "ts": 1, "dur": 9},
    {"ph": "s", "id": 1, "tid": 1, "ts": 4, "args": {"why": "queue"}, "tts": 7},
    {"ph": "X", "name": "b", "tid": 2, "ts": 5, "dur": 1},
    {"ph": "f", "id": 1, "tid": 2, "ts": 5, "bp": "e", "args": {"correlation": 3}})");
  ASSERT_EQ(trace.flows().size(), 1U);
  EXPECT_EQ(trace.flows().from_span[FlowId(0)], SpanId(0));
  EXPECT_EQ(trace.flows().from_ns[FlowId(0)], 4000) << "within its span";
  EXPECT_EQ(trace.flows().to_ns[FlowId(0)], 0) << "where its span begins";
  EXPECT_EQ(extra(trace, "start.why"), "\"queue\"");
  EXPECT_EQ(extra(trace, "start.event.tts"), "7");
  EXPECT_EQ(extra(trace, "end.correlation"), "3");
  EXPECT_EQ(trace.extras().size(), 3U);
}

TEST(KinetoFlows, PairsBeginningsAndEnds) {
  const Trace trace = read_events(R"(
    {"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": 1},
    {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 2},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 4, "args": {"result": 7}},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 8},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 9},
    {"ph": "B", "name": "open", "pid": 1, "tid": 2, "ts": 3})");
  ASSERT_EQ(trace.spans().size(), 3U);
  EXPECT_EQ(trace.name(SpanId(0)), "outer");
  EXPECT_EQ(trace.spans().duration_ns[SpanId(0)], 7000);
  EXPECT_EQ(trace.spans().duration_ns[SpanId(1)], 2000);
  EXPECT_EQ(trace.spans().parent[SpanId(1)], SpanId(0));
  EXPECT_EQ(trace.spans().flags[SpanId(2)], SpanFlags::kUnfinished);
  EXPECT_EQ(extra(trace, "result"), "7");
  EXPECT_EQ(ledger_count(trace, LedgerKind::Unmatched), 1U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Unfinished), 1U);
}

TEST(KinetoFlows, KeepsWhatBothEventsOfAPairSay) {
  const Trace trace = read_events(R"(
    {"ph": "B", "name": "a", "ts": 1, "tts": 5, "args": {"bytes": 1, "from": "x"}},
    {"ph": "E", "ts": 2, "tts": 6, "sf": 8, "args": {"bytes": 2, "to": "y"}})");
  EXPECT_EQ(extra(trace, "bytes"), "1");
  EXPECT_EQ(extra(trace, "end.bytes"), "2");
  EXPECT_EQ(extra(trace, "to"), "\"y\"");
  EXPECT_EQ(extra(trace, "event.tts"), "5");
  EXPECT_EQ(extra(trace, "event.end.tts"), "6");
  EXPECT_EQ(extra(trace, "event.sf"), "8");
}

TEST(KinetoFlows, PairsAsynchronousSpansByIdAcrossThreads) {
  const Trace trace = read_events(R"(
    {"ph": "b", "cat": "io", "name": "read", "id": 1, "pid": 1, "tid": 1, "ts": 1, "args": {"n": 1}},
    {"ph": "b", "cat": "io", "name": "read", "id": 2, "pid": 1, "tid": 1, "ts": 2},
    {"ph": "n", "cat": "io", "name": "half", "id": 1, "pid": 1, "tid": 1, "ts": 3},
    {"ph": "e", "cat": "io", "name": "read", "id": 1, "pid": 1, "tid": 2, "ts": 5},
    {"ph": "e", "cat": "io", "name": "read", "id": 2, "pid": 1, "tid": 1, "ts": 9})");
  ASSERT_EQ(trace.spans().size(), 2U);
  EXPECT_EQ(trace.spans().kind[SpanId(0)], SpanKind::Async);
  EXPECT_EQ(trace.spans().flags[SpanId(0)], SpanFlags::kAsync);
  EXPECT_EQ(trace.spans().duration_ns[SpanId(0)], 4000);
  EXPECT_EQ(trace.spans().end_track[SpanId(0)], TrackId(1));
  EXPECT_EQ(trace.spans().duration_ns[SpanId(1)], 7000);
  EXPECT_EQ(trace.instants().size(), 1U);
}

}  // namespace
}  // namespace sonde
