// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What spans say about themselves, and which spans are around a point.

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>

#include "convert/testing/read_text.h"

namespace sonde {
namespace {

using testing::extra;
using testing::read_events;

TEST(KinetoReadSpans, KeepsIdsOfAllSixtyFourBitsApart) {
  const Trace trace = read_events(R"(
    {"ph": "X", "cat": "mine", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args":
     {"External id": 5000000000, "Sequence number": 7, "correlation": -3}},
    {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 3, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args":
     {"Fwd thread id": 2, "Ev Idx": 9000000000000000000, "Record function id": 0}})");
  const SpanTable& spans = trace.spans();
  EXPECT_EQ(trace.string(spans.category[SpanId(0)]), "mine");
  EXPECT_EQ(spans.external_id[SpanId(0)], 5000000000);
  EXPECT_EQ(spans.sequence_number[SpanId(0)], 7);
  EXPECT_EQ(spans.correlation[SpanId(0)], -3);
  EXPECT_EQ(spans.external_id[SpanId(1)], 0);
  EXPECT_EQ(spans.sequence_number[SpanId(1)], -1);
  EXPECT_EQ(spans.forward_thread[SpanId(2)], 2);
  EXPECT_EQ(spans.record_function_id[SpanId(2)], 0);
  EXPECT_EQ(spans.scope[SpanId(2)], RecordScope::BackwardFunction);
}

TEST(KinetoReadSpans, ReadsWhereASpanWasMarked) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args":
     {"Overload name": "Tensor", "File": "a.cpp", "Line": 7, "Function": "main"}},
    {"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 3, "dur": 1, "args": {"Line": "x"}})");
  const SpanTable& spans = trace.spans();
  EXPECT_EQ(trace.string(spans.overload_name[SpanId(0)]), "Tensor");
  EXPECT_EQ(trace.string(spans.source_file[SpanId(0)]), "a.cpp");
  EXPECT_EQ(spans.source_line[SpanId(0)], 7);
  EXPECT_EQ(trace.string(spans.source_function[SpanId(0)]), "main");
  EXPECT_EQ(spans.source_line[SpanId(1)], -1);
  EXPECT_EQ(extra(trace, "Line"), "\"x\"");
}

TEST(KinetoReadSpans, GivesPointsTheInnermostSpanAroundThem) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "outer", "pid": 1, "tid": 1, "ts": 1, "dur": 10},
    {"ph": "X", "name": "inner", "pid": 1, "tid": 1, "ts": 3, "dur": 4},
    {"ph": "b", "cat": "io", "name": "read", "id": 1, "pid": 1, "tid": 1, "ts": 8},
    {"ph": "e", "cat": "io", "name": "read", "id": 1, "pid": 1, "tid": 1, "ts": 10},
    {"ph": "i", "s": "t", "name": "behind", "pid": 1, "tid": 1, "ts": 12},
    {"ph": "i", "s": "t", "name": "in outer", "pid": 1, "tid": 1, "ts": 9},
    {"ph": "i", "s": "t", "name": "elsewhere", "pid": 1, "tid": 2, "ts": 4},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 7,
     "args": {"Bytes": 4, "Device Type": 0}})");
  const auto span_of = [&trace](std::string_view instant) {
    const InstantTable& rows = trace.instants();
    std::size_t row = 0;
    while (row + 1 < rows.size() && trace.string(rows.name[row]) != instant) ++row;
    const SpanId span = rows.span[row];
    return span.valid() ? trace.name(span) : "none";
  };
  EXPECT_EQ(span_of("in outer"), "outer");
  EXPECT_EQ(span_of("behind"), "none");
  EXPECT_EQ(span_of("elsewhere"), "none");
  ASSERT_EQ(trace.allocations().size(), 1U);
  EXPECT_EQ(trace.name(trace.allocations().span[AllocationId(0)]), "inner");
}

}  // namespace
}  // namespace sonde
