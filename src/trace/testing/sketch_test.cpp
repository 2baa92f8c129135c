// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/testing/sketch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sonde::testing {
namespace {

using ::testing::HasSubstr;

TEST(Sketch, DrawsOneMicrosecondAColumn) {
  const Trace trace = sketch("main ..aaa.b");
  ASSERT_EQ(trace.spans().size(), 2u);
  EXPECT_EQ(trace.name(SpanId(0)), "a");
  EXPECT_EQ(trace.spans().start_ns[0], 2'000);
  EXPECT_EQ(trace.spans().duration_ns[0], 3'000);
  EXPECT_EQ(trace.spans().start_ns[1], 6'000);
}

TEST(Sketch, KnowsThreadsStreamsAndProcesses) {
  const Trace trace = sketch(R"(
      main                a
      proc1/thread4       b
      gpu2/stream7        c
      rank3/gpu0/stream1  d   # a remark
  )");
  ASSERT_EQ(trace.tracks().size(), 4u);
  EXPECT_EQ(trace.processes().size(), 3u);
  EXPECT_EQ(trace.tracks().id[1], 4);
  EXPECT_EQ(trace.tracks().kind[2], TrackKind::Stream);
  EXPECT_EQ(trace.tracks().id[2], 7);
  EXPECT_EQ(trace.tracks().device_index[2], 2);
  EXPECT_EQ(trace.spans().kind[2], SpanKind::Kernel);
  EXPECT_EQ(trace.processes().rank[trace.tracks().process[3]], 3);
}

TEST(Sketch, PutsRowsOfOneLabelOnOneTrack) {
  const Trace trace = sketch(R"(
      main  aaaa
      main  .bb.
  )");
  EXPECT_EQ(trace.tracks().size(), 1u);
  EXPECT_EQ(trace.spans().parent[1], SpanId(0));
}

TEST(Sketch, MarksUnfinishedSpans) {
  const Trace trace = sketch("main .aa>");
  EXPECT_EQ(trace.spans().flags[0], SpanFlags::kUnfinished);
  EXPECT_EQ(trace.spans().duration_ns[0], 3'000);
}

TEST(Sketch, NamesWhatItDoesNotUnderstand) {
  EXPECT_THAT(parse_sketch("main").error().message, HasSubstr("a label and a drawing"));
  EXPECT_THAT(parse_sketch("main aa bb").error().message, HasSubstr("main aa bb"));
  EXPECT_THAT(parse_sketch("main a?b").error().message, HasSubstr("'?' in column 1"));
  EXPECT_THAT(parse_sketch("main >").error().message, HasSubstr("column 0"));
  EXPECT_THAT(parse_sketch("gpu0/lane1 a").error().message, HasSubstr("gpu0/lane1"));
  EXPECT_THAT(parse_sketch("proc1 a").error().message, HasSubstr("proc1"));
  EXPECT_FALSE(parse_sketch("/ a"));
}

TEST(TraceText, ShowsTheDrawing) {
  EXPECT_EQ(trace_text(sketch(R"(
      main          aaaa
      main          .bb>
      gpu0/stream7  ..kk
  )")),
            "trace of 4.000 µs, 3 spans\n"
            "process 0:\n"
            "track 0: process=0 name=\"main\"\n"
            "  0.000 µs +4.000 µs a\n"
            "    1.000 µs +3.000 µs b {unfinished}\n"
            "track 1: process=0 kind=stream id=7 device_index=0 name=\"stream7\"\n"
            "  2.000 µs +2.000 µs k [kernel]\n");
}

}  // namespace
}  // namespace sonde::testing
