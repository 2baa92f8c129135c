// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is written can be read back: table by table, and byte by byte when it is written again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/output_file.h"
#include "sonde/export.h"
#include "sonde/open.h"
#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::sketch;
using testing::TempDir;
using testing::trace_text;

Trace opened(const std::string& path) {
  Result<Trace> trace = open_trace(path);
  if (!trace) ADD_FAILURE() << trace.error().message;
  return trace ? *trace : Trace();
}

// Where two texts begin to differ, for a message.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const std::size_t from = a.rfind('\n', at) + 1;
  return a.substr(from, 300) + "\n---\n" + b.substr(std::min(from, b.size()), 300);
}

class RoundTrip : public ::testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, GivesTheSameTablesAndTheSameBytesAgain) {
  const TempDir dir;
  const Trace before =
      opened(std::string(SONDE_TEST_DATA) + "/torch-2.11-h200/" + GetParam() + ".pt.trace.json.gz");
  ASSERT_GT(before.spans().size(), 0u);
  ASSERT_TRUE(export_chrome_trace(before, dir.file("1.json")));
  const Trace after = opened(dir.file("1.json"));
  EXPECT_TRUE(trace_text(before) == trace_text(after))
      << first_difference(trace_text(before), trace_text(after));
  ASSERT_TRUE(export_chrome_trace(after, dir.file("2.json")));
  EXPECT_TRUE(*read_file(dir.file("1.json")) == *read_file(dir.file("2.json")));
}

INSTANTIATE_TEST_SUITE_P(RealRecordings, RoundTrip,
                         ::testing::Values("transformer", "compiled", "ranks4/rank0",
                                           "ranks4/rank1", "ranks4/rank2", "ranks4/rank3"));

// Kineto's own track for overhead has no name, so it gets one.
TEST(RoundTripOnce, AProcessWithoutANameGetsOneAndKeepsIt) {
  const TempDir dir;
  const Trace before =
      opened(std::string(SONDE_TEST_DATA) + "/torch-2.11-h200/graph_streams.pt.trace.json.gz");
  ASSERT_TRUE(export_chrome_trace(before, dir.file("1.json")));
  const Trace after = opened(dir.file("1.json"));
  std::string text = trace_text(after);
  for (const std::string_view added : {" name=\"process -1\"", " name=\"thread 0\""}) {
    const std::size_t at = text.find(added);
    ASSERT_NE(at, std::string::npos) << added;
    text.erase(at, added.size());
  }
  EXPECT_TRUE(text == trace_text(before)) << first_difference(text, trace_text(before));
  ASSERT_TRUE(export_chrome_trace(after, dir.file("2.json")));
  EXPECT_TRUE(trace_text(opened(dir.file("2.json"))) == trace_text(after));
}

TEST(RoundTripOnce, KeepsArgumentsAndCategoriesOfScopes) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId track = builder.tracks().push_back({.process = process, .id = 2});
  const SpanId span = builder.spans().push_back({.start_ns = 1000,
                                                 .duration_ns = 500,
                                                 .name = builder.intern("load"),
                                                 .track = track,
                                                 .category = builder.intern("io")});
  const InstantId instant = builder.instants().push_back(
      {.time_ns = 1100, .track = track, .name = builder.intern("now")});
  const std::vector<std::pair<std::string, std::string>> arguments = {
      {"least", "-9223372036854775808"},
      {"most", "18446744073709551615"},
      {"third", "0.3333333333333333"},
      {"one", "1.0"},
      {"yes", "true"},
      {"text", R"("a \"b\"\n\u0000")"},
      {"nan", R"("NaN")"}};
  for (const auto& [key, json] : arguments) {
    builder.extras().push_back(
        {TableKind::Spans, span.value(), builder.intern(key), builder.intern(json)});
    builder.extras().push_back(
        {TableKind::Instants, instant.value(), builder.intern(key), builder.intern(json)});
  }
  const Trace before = *std::move(builder).build();
  const auto texts = [](const Trace& trace, TableKind table) {
    std::vector<std::pair<std::string, std::string>> found;
    for (std::size_t i = 0; i < trace.extras().size(); ++i) {
      if (trace.extras().of_table[i] != table) continue;
      found.emplace_back(trace.string(trace.extras().key[i]),
                         trace.string(trace.extras().value[i]));
    }
    return found;
  };
  const TempDir dir;
  ASSERT_TRUE(export_chrome_trace(before, dir.file("1.json")));
  ASSERT_TRUE(save_trace(before, dir.file("1.sonde")));
  for (const char* name : {"1.json", "1.sonde"}) {
    const Trace after = opened(dir.file(name));
    EXPECT_EQ(texts(after, TableKind::Spans), arguments) << name;
    EXPECT_EQ(texts(after, TableKind::Instants), arguments) << name;
    EXPECT_EQ(after.string(after.spans().category[SpanId(0)]), "io") << name;
  }
}

// Exports what was read from the first export again, and expects the same text.
void expect_stable(const Trace& trace) {
  const TempDir dir;
  ASSERT_TRUE(export_chrome_trace(trace, dir.file("1.json")));
  const Trace once = opened(dir.file("1.json"));
  ASSERT_TRUE(export_chrome_trace(once, dir.file("2.json")));
  EXPECT_EQ(*read_file(dir.file("1.json")), *read_file(dir.file("2.json")));
  EXPECT_EQ(trace_text(once), trace_text(opened(dir.file("2.json"))));
  EXPECT_EQ(once.spans().size(), trace.spans().size());
}

TEST(RoundTripOnce, SpansThatOverlapReturnToTheirTrack) {
  const Trace trace = sketch(R"(
      main           aaaaaaaa........
      main           ..bbbbbbbbb.....
      main           ....cccccc>.....
      gpu0/stream7   kkkk............
      gpu0/stream7   ..llll..........
  )");
  const TempDir dir;
  ASSERT_TRUE(export_chrome_trace(trace, dir.file("1.json")));
  const Trace after = opened(dir.file("1.json"));
  ASSERT_EQ(after.tracks().size(), 2u);
  for (std::size_t track = 0; track < 2; ++track) {
    EXPECT_EQ(after.track_spans(TrackId(track)).size(), trace.track_spans(TrackId(track)).size());
  }
  for (const SpanId span : trace.all_spans()) {
    EXPECT_EQ(after.name(span), trace.name(span));
    EXPECT_EQ(after.spans().start_ns[span], trace.spans().start_ns[span]);
    EXPECT_EQ(after.spans().duration_ns[span], trace.spans().duration_ns[span]);
    EXPECT_EQ(after.spans().flags[span], trace.spans().flags[span]);
  }
  expect_stable(trace);
}

TEST(RoundTripOnce, WhoCapturedAKernelIsKept) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId thread =
      builder.tracks().push_back({.process = process, .kind = TrackKind::Thread, .id = 2});
  const TrackId stream = builder.tracks().push_back(
      {.process = process, .kind = TrackKind::Stream, .id = 7, .device_index = 0});
  SpanRow call;
  call.name = builder.intern("cudaLaunchKernel");
  call.track = thread;
  call.kind = SpanKind::CudaRuntime;
  call.start_ns = 1000;
  call.duration_ns = 500;
  call.correlation = 5;
  SpanRow work = call;
  work.name = builder.intern("add");
  work.track = stream;
  work.kind = SpanKind::Kernel;
  work.start_ns = 9000;
  work.correlation = 8;
  const SpanId captured_by = builder.spans().push_back(call);
  KernelRow kernel;
  kernel.span = builder.spans().push_back(work);
  kernel.graph_node_id = 3;
  kernel.captured_by = captured_by;
  builder.kernels().push_back(kernel);
  const TempDir dir;
  ASSERT_TRUE(export_chrome_trace(*std::move(builder).build(), dir.file("1.json")));
  const Trace after = opened(dir.file("1.json"));
  ASSERT_TRUE(after.kernels().captured_by[KernelId(0)].valid());
  EXPECT_EQ(after.name(after.kernels().captured_by[KernelId(0)]), "cudaLaunchKernel");
}

TEST(RoundTripOnce, ARecordingOfOurOwnIsStable) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 4242,
                                                           .rank = 2,
                                                           .world_size = 4,
                                                           .host = builder.intern("node \"7\""),
                                                           .name = builder.intern("train")});
  const TrackId main =
      builder.tracks().push_back({.process = process, .id = 4242, .name = builder.intern("main")});
  const TrackId async = builder.tracks().push_back(
      {.process = process, .kind = TrackKind::Async, .name = builder.intern("async")});
  const Nanos start = 1'794'705'445'614'733'171;
  SpanRow step;
  step.start_ns = start;
  step.duration_ns = 100'000;
  step.name = builder.intern("ProfilerStep#12");
  step.kind = SpanKind::Step;
  step.step = 12;
  step.track = main;
  builder.spans().push_back(step);
  SpanRow scope = step;
  scope.kind = SpanKind::Scope;
  scope.step = -1;
  scope.name = builder.intern("forward \\ \x01 \xf0\x9f\x94\xa5");
  scope.duration_ns = 70'000;
  scope.source_file = builder.intern("model.cpp");
  scope.source_line = 17;
  scope.flags = SpanFlags::kUnfinished;
  const SpanId from = builder.spans().push_back(scope);
  SpanRow request = scope;
  request.kind = SpanKind::Async;
  request.flags = SpanFlags::kAsync;
  request.track = async;
  request.name = builder.intern("request");
  const SpanId to = builder.spans().push_back(request);
  FlowRow flow;
  flow.id = 5;
  flow.from_span = from;
  flow.to_span = to;
  builder.flows().push_back(flow);
  InstantRow mark;
  mark.time_ns = start + 5;
  mark.track = main;
  mark.name = builder.intern("epoch");
  mark.source_file = builder.intern("model.cpp");
  mark.source_line = 3;
  builder.instants().push_back(mark);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double value : {0.5, 3.0, 1e300, kInfinite, -kInfinite, std::nan("")}) {
    CounterRow counter;
    counter.time_ns = start + 5 * static_cast<Nanos>(builder.counters().size() + 1);
    counter.track = main;
    counter.name = builder.intern("loss");
    counter.value = value;
    builder.counters().push_back(counter);
  }
  builder.windows().push_back({.process = process, .start_ns = start, .end_ns = start + 100'000});
  builder.metadata().push_back(
      {process, builder.intern("note"), builder.intern("{\"a\": [1, 2]}")});
  builder.add_ledger(LedgerKind::DroppedByBudget, 3, "thread 1");
  expect_stable(*std::move(builder).build());
}

TEST(RoundTripOnce, KeepsWhatWasLost) {
  const TempDir dir;
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 9});
  builder.add_ledger(LedgerKind::DroppedByBudget, 3, "thread 1", "full: \"a\"", process);
  builder.add_ledger(LedgerKind::Truncated, 1);
  ASSERT_TRUE(export_chrome_trace(*std::move(builder).build(), dir.file("1.json")));
  const Trace after = opened(dir.file("1.json"));
  const LedgerTable& ledger = after.ledger();
  ASSERT_EQ(ledger.size(), 2u);
  EXPECT_EQ(ledger.kind[0], LedgerKind::DroppedByBudget);
  EXPECT_EQ(ledger.count[0], 3u);
  EXPECT_EQ(after.string(ledger.source[0]), "thread 1");
  EXPECT_EQ(after.string(ledger.detail[0]), "full: \"a\"");
  EXPECT_EQ(after.processes().pid[ledger.process[0]], 9);
  EXPECT_EQ(ledger.kind[1], LedgerKind::Truncated);
  EXPECT_FALSE(ledger.process[1].valid());
}

TEST(RoundTripOnce, KeepsWhatOddEventsSay) {
  const TempDir dir;
  std::string text = "[";
  const std::vector<std::string> kept = {
      R"("ph": "t", "id": 1)", R"("why": "queue")",
      R"("correlation": 3)",   R"("tts": 7)",
      R"("ph": "n")",          R"("id": "gpu0")",
      R"("ts": 1.500)",        R"("flow_args": [1, {}])",
      R"("bytes": 1)",         R"("end.bytes": 2)",
  };
  text += R"({"ph": "X", "name": "a", "tid": 1, "ts": 1, "dur": 9},
    {"ph": "s", "id": 1, "cat": "q", "name": "q", "tid": 1, "ts": 1.5, "args": {"why": "queue"}},
    {"ph": "X", "name": "b", "tid": 2, "ts": 5, "dur": 1},
    {"ph": "t", "id": 1, "cat": "q", "name": "q", "tid": 2, "ts": 5, "tts": 7, "flow_args": [1, {}]},
    {"ph": "X", "name": "c", "tid": 3, "ts": 7, "dur": 1},
    {"ph": "f", "id": 1, "cat": "q", "name": "q", "tid": 3, "ts": 7, "bp": "e", "args": {"correlation": 3}},
    {"ph": "B", "name": "p", "tid": 4, "ts": 1, "args": {"bytes": 1}},
    {"ph": "E", "tid": 4, "ts": 2, "args": {"bytes": 2}},
    {"ph": "n", "cat": "io", "name": "half", "id": 1, "ts": 3},
    {"ph": "C", "name": "memory", "id": "gpu0", "ts": 1, "args": {"used": 3}}])";
  ASSERT_TRUE(write_file_whole(dir.file("odd.json"), text));
  const Trace before = opened(dir.file("odd.json"));
  ASSERT_EQ(before.flows().size(), 2u);
  ASSERT_TRUE(export_chrome_trace(before, dir.file("1.json")));
  const std::string written = *read_file(dir.file("1.json"));
  for (const std::string& part : kept) {
    EXPECT_NE(written.find(part), std::string::npos) << part << "\n" << written;
  }
  const Trace after = opened(dir.file("1.json"));
  ASSERT_EQ(after.flows().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after.name(after.flows().from_span[i]), before.name(before.flows().from_span[i]));
    EXPECT_EQ(after.name(after.flows().to_span[i]), before.name(before.flows().to_span[i]));
  }
  expect_stable(before);
}

TEST(RoundTripOnce, AnEmptyTraceIsStable) {
  expect_stable(Trace());
}

}  // namespace
}  // namespace sonde
