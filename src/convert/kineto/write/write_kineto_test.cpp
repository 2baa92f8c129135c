// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "convert/testing/exported.h"
#include "sonde/export.h"
#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using testing::exported_json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::sketch;

// A trace of one process and one thread.
class OneThread {
 public:
  OneThread() {
    process = builder.processes().push_back({.pid = 42});
    track = builder.tracks().push_back({.process = process, .id = 43});
  }
  SpanRow span(std::string_view name, Nanos start, Nanos duration) {
    SpanRow row;
    row.name = builder.intern(name);
    row.start_ns = start;
    row.duration_ns = duration;
    row.track = track;
    return row;
  }
  SpanId add(const SpanRow& row) { return builder.spans().push_back(row); }
  std::string json() { return exported_json(*std::move(builder).build()); }

  TraceBuilder builder;
  ProcessId process;
  TrackId track;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(KinetoWrite, PutsOverloadsIntoNamesIfTheRecordingAsksForIt) {
  for (const bool is_asked : {false, true}) {
    OneThread trace;
    SpanRow row = trace.span("aten::add", 1000, 10);
    row.kind = SpanKind::CpuOp;
    row.overload_name = trace.builder.intern("Tensor");
    trace.add(row);
    row.name = trace.builder.intern("aten::mul.Tensor");
    trace.add(row);
    if (is_asked) {
      trace.builder.metadata().push_back({trace.process,
                                          trace.builder.intern("capture_overload_names"),
                                          trace.builder.intern("1")});
    }
    const std::string json = trace.json();
    EXPECT_EQ(count(json, R"("name": "aten::add.Tensor")"), is_asked ? 1u : 0u);
    EXPECT_EQ(count(json, R"("name": "aten::mul.Tensor")"), 1u);
  }
}

TEST(KinetoWrite, WritesAnOperatorAsKinetoDoes) {
  OneThread trace;
  SpanRow row = trace.span("aten::mm", 1'790'857'026'000'000'000 + 3848419624188359, 407412);
  row.kind = SpanKind::CpuOp;
  row.external_id = 513;
  row.record_function_id = 256;
  row.sequence_number = 587;
  row.forward_thread = 1;
  row.event_index = 0;
  trace.add(row);
  EXPECT_THAT(trace.json(), HasSubstr(R"(
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 42, "tid": 43,
    "ts": 3848419624188.359, "dur": 407.412,
    "args": {
      "External id": 513, "Record function id": 256, "Sequence number": 587, "Fwd thread id": 1, "Ev Idx": 0
    }
  })"));
}

TEST(KinetoWrite, ShowsArgumentsByPosition) {
  OneThread trace;
  const DimId dims = trace.builder.dims().push_back({4});
  trace.builder.dims().push_back({-1});
  trace.builder.dims().push_back({256});
  OpArgumentRow tensor;
  tensor.kind = ArgumentKind::Tensor;
  tensor.dtype = trace.builder.intern("float");
  tensor.dims_first = dims;
  tensor.dims_count = 2;
  tensor.strides_first = DimId(2);
  tensor.strides_count = 1;
  OpArgumentRow list;
  list.index = 1;
  list.kind = ArgumentKind::TensorList;
  OpArgumentRow element = tensor;
  element.index = 1;
  element.element = 0;
  OpArgumentRow scalar;
  scalar.index = 2;
  scalar.kind = ArgumentKind::Scalar;
  scalar.value = trace.builder.intern("0.5");
  const OpArgumentId first = trace.builder.op_arguments().push_back(tensor);
  for (const OpArgumentRow& row : {list, element, element, scalar}) {
    trace.builder.op_arguments().push_back(row);
  }
  SpanRow row = trace.span("aten::cat", 0, 5);
  row.kind = SpanKind::CpuOp;
  row.arguments = trace.builder.argument_lists().push_back({first, 5});
  trace.add(row);
  EXPECT_THAT(trace.json(), HasSubstr(R"("Concrete Inputs": ["", "", "0.5"], )"
                                      R"("Input type": ["float", "TensorList", "Scalar"], )"
                                      R"("Input Strides": [[256], [[256], [256]], []], )"
                                      R"("Input Dims": [[4, -1], [[4, -1], [4, -1]], []])"));
}

TEST(KinetoWrite, RendersSharedAndSingleArgumentsAlike) {
  const auto arguments_of = [](int calls) {
    OneThread trace;
    OpArgumentRow scalar;
    scalar.kind = ArgumentKind::Scalar;
    scalar.value = trace.builder.intern("1");
    const OpArgumentId first = trace.builder.op_arguments().push_back(scalar);
    const ArgumentListId list = trace.builder.argument_lists().push_back({first, 1});
    for (int i = 0; i < calls; ++i) {
      SpanRow row = trace.span("op", 10 * i, 5);
      row.arguments = list;
      trace.add(row);
    }
    return count(trace.json(), R"("Concrete Inputs": ["1"], "Input type": ["Scalar"])");
  };
  EXPECT_EQ(arguments_of(1), 1u);
  EXPECT_EQ(arguments_of(3), 3u);
}

TEST(KinetoWrite, AnEmptyTraceIsValidJson) {
  const std::string text = exported_json(Trace());
  EXPECT_TRUE(validate_json(text).has_value()) << text;
  EXPECT_THAT(text, HasSubstr("\"traceEvents\": [\n  ]"));
}

TEST(KinetoWrite, SpansWithoutAnyTrackAreValidJson) {
  TraceBuilder builder;
  builder.spans().push_back({.start_ns = 1000, .name = builder.intern("lost")});
  const std::string text = exported_json(*std::move(builder).build());
  EXPECT_TRUE(validate_json(text).has_value()) << text;
  EXPECT_THAT(text, HasSubstr("\"name\": \"lost\", \"pid\": 0, \"tid\": 0"));
}

TEST(KinetoWrite, AWindowAloneIsValidJson) {
  TraceBuilder builder;
  builder.windows().push_back({.start_ns = 5000, .end_ns = 9000});
  const std::string text = exported_json(*std::move(builder).build());
  EXPECT_TRUE(validate_json(text).has_value()) << text;
  EXPECT_THAT(text, HasSubstr("\"traceEvents\": [\n  {\n    \"ph\": \"X\", \"cat\": \"Trace\""));
}

TEST(KinetoWrite, NamesOfAnyBytesAreValidJson) {
  OneThread trace;
  const std::string nul("a\0b", 3);
  for (const std::string& name :
       {std::string("quote\" back\\slash"), std::string("line\nline\r\t"), nul,
        std::string("torn \xe2\x98 \xff"), std::string("\xf0\x9f\x94\xa5")}) {
    SpanRow row = trace.span(name, 0, 5);
    row.category = trace.builder.intern(name);
    row.source_file = trace.builder.intern(name);
    trace.add(row);
  }
  trace.builder.metadata().push_back(
      {trace.process, trace.builder.intern("a\"\xff"), trace.builder.intern("not json")});
  trace.builder.extras().push_back(
      {TableKind::Spans, 0, trace.builder.intern("key\n"), trace.builder.intern("{\"broken\": ")});
  const std::string text = trace.json();
  EXPECT_TRUE(validate_json(text).has_value());
  EXPECT_THAT(text, HasSubstr(R"("name": "a\u0000b")"));
  EXPECT_THAT(text, HasSubstr("\"name\": \"\xf0\x9f\x94\xa5\""));
  EXPECT_THAT(text, HasSubstr("\"name\": \"torn \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\""));
  EXPECT_THAT(text, HasSubstr(R"("key\n": "{\"broken\": ")"));
}

TEST(KinetoWrite, NoKeyStandsTwiceWhateverArgumentsAreCalled) {
  OneThread trace;
  SpanRow row = trace.span("scope", 0, 5);
  row.source_file = trace.builder.intern("a.cpp");
  row.source_line = 7;
  row.source_function = trace.builder.intern("main");
  const SpanId span = trace.add(row);
  for (const char* const key : {"File", "Line", "Function", "batch", "batch", "File", "Category"})
    trace.builder.extras().push_back(
        {TableKind::Spans, span.value(), trace.builder.intern(key), trace.builder.intern("1")});
  const std::string text = trace.json();
  EXPECT_TRUE(validate_json(text).has_value());
  for (const char* const key :
       {"File", "File (argument)", "File (argument 2)", "Line", "Line (argument)", "Function",
        "Function (argument)", "batch", "batch (argument)", "Category"})
    EXPECT_EQ(count(text, '"' + std::string(key) + "\": "), 1u) << key << " in " << text;
  EXPECT_EQ(count(text, "Category (argument)"), 0u) << "nothing else has that key";
}

TEST(KinetoWrite, KeepsANameOfAMegabyte) {
  for (const char letter : {'x', '"'}) {
    OneThread trace;
    const std::string name(1 << 20, letter);
    trace.add(trace.span(name, 0, 5));
    const std::string text = trace.json();
    EXPECT_TRUE(validate_json(text).has_value());
    EXPECT_NE(text.find(json_string(name)), std::string::npos);
  }
}

TEST(KinetoWrite, TimesBeforeTheBaseKeepTheirSign) {
  OneThread trace;
  trace.builder.metadata().push_back(
      {ProcessId(), trace.builder.intern("baseTimeNanoseconds"), trace.builder.intern("1000000")});
  trace.add(trace.span("early", 999'999, 1));
  EXPECT_THAT(trace.json(), HasSubstr("\"ts\": -0.001, \"dur\": 0.001"));
}

TEST(KinetoWrite, TheBaseIsOnKinetosGrid) {
  OneThread trace;
  trace.add(trace.span("now", 1'794'705'445'614'733'171, 1));
  const std::int64_t base = 227 * 7'889'238 * std::int64_t{1'000'000'000};
  EXPECT_THAT(trace.json(), HasSubstr("\"baseTimeNanoseconds\": " + std::to_string(base)));
}

TEST(KinetoWrite, AnnotationsOnADeviceAreANanosecondWiderAtBothEnds) {
  OneThread trace;
  SpanRow row = trace.span("step", 5000, 100);
  row.kind = SpanKind::GpuUserAnnotation;
  trace.add(row);
  EXPECT_THAT(trace.json(), HasSubstr("\"ts\": 4.999, \"dur\": 0.102"));
}

TEST(KinetoWrite, AllocationsAreMarkedUnfinishedAsKinetosAre) {
  OneThread trace;
  AllocationRow row;
  row.track = trace.track;
  row.bytes = 512;
  trace.builder.allocations().push_back(row);
  EXPECT_THAT(trace.json(), HasSubstr("\"finished\": false"));
}

TEST(KinetoWrite, DevicePropertiesAreTheDevices) {
  OneThread trace;
  DeviceRow row;
  row.index = 0;
  row.name = trace.builder.intern("H200");
  row.max_threads_per_multiprocessor = 2048;
  row.multiprocessors = 132;
  trace.builder.devices().push_back(row);
  const std::string json = trace.json();
  EXPECT_THAT(json, HasSubstr("\"maxThreadsPerMultiprocessor\": 2048"));
  EXPECT_THAT(json, HasSubstr("\"numSms\": 132"));
}

TEST(KinetoWrite, EveryLineHasOneName) {
  OneThread trace;
  trace.add(trace.span("first", 1000, 5));
  trace.add(trace.span("second", 2000, 5));
  EXPECT_EQ(count(trace.json(), "\"thread_name\""), 1u);
}

struct XEvent {
  std::string tid;
  Nanos start;
  Nanos end;
};

std::vector<XEvent> x_events(const std::string& json) {
  const std::regex pattern(R"re("tid": (\S+),\n    "ts": (\d+)\.(\d+), "dur": (\d+)\.(\d+))re");
  std::vector<XEvent> events;
  for (std::sregex_iterator at(json.begin(), json.end(), pattern), end; at != end; ++at) {
    const Nanos start = std::stoll((*at)[2].str() + (*at)[3].str());
    events.push_back({(*at)[1], start, start + std::stoll((*at)[4].str() + (*at)[5].str())});
  }
  return events;
}

TEST(KinetoWrite, SpansOfOneLineNestWhateverTheirOverlap) {
  const std::string json = exported_json(sketch(R"(
      main   aaaaaaaa........
      main   ..bbbbbbbbb.....
      main   ....cccccc......
      main   ......dddddd....
      main   ..e...f....gg...
  )"));
  const std::vector<XEvent> events = x_events(json);
  ASSERT_EQ(events.size(), 7u);
  for (const XEvent& a : events) {
    for (const XEvent& b : events) {
      const bool overlap_in_part =
          a.tid == b.tid && a.start < b.start && b.start < a.end && a.end < b.end;
      EXPECT_FALSE(overlap_in_part) << a.tid << " " << a.start << " " << b.start;
    }
  }
  EXPECT_THAT(json, HasSubstr("\"name\": \"main (overlap 1)\""));
  EXPECT_THAT(json, HasSubstr("\"thread_lane_of\""));
}

TEST(KinetoWrite, SpansThatNestShareOneLine) {
  const std::string json = exported_json(sketch(R"(
      main   aaaaaaaa
      main   bbbb.ccc
      main   bb......
  )"));
  EXPECT_THAT(json, Not(HasSubstr("overlap")));
}

TEST(KinetoWrite, StepsAndScopesAreUserAnnotations) {
  OneThread trace;
  SpanRow step = trace.span("", 0, 100);
  step.name = {};
  step.kind = SpanKind::Step;
  step.step = 7;
  trace.add(step);
  SpanRow scope = trace.span("forward", 10, 50);
  scope.flags = SpanFlags::kUnfinished;
  trace.add(scope);
  const std::string json = trace.json();
  EXPECT_THAT(json, HasSubstr(R"("cat": "user_annotation", "name": "ProfilerStep#7")"));
  EXPECT_THAT(json, HasSubstr(R"("cat": "user_annotation", "name": "forward")"));
  EXPECT_THAT(json, HasSubstr(R"("finished": false)"));
}

TEST(KinetoWrite, ARecordingSaysItsRankHostAndLosses) {
  TraceBuilder builder;
  builder.processes().push_back({.pid = 9,
                                 .rank = 3,
                                 .world_size = 8,
                                 .host = builder.intern("node7"),
                                 .name = builder.intern("train")});
  builder.add_ledger(LedgerKind::DroppedByBudget, 12, "thread 1", "full");
  const std::string json = exported_json(*std::move(builder).build());
  EXPECT_THAT(json, HasSubstr(R"("distributedInfo": {"rank": 3, "world_size": 8})"));
  EXPECT_THAT(json, HasSubstr(R"("host_name": "node7")"));
  EXPECT_THAT(json, HasSubstr(R"("sonde_ledger": [{"kind": "dropped_by_budget", "count": 12, )"
                              R"("source": "thread 1", "detail": "full"}])"));
}

TEST(KinetoWrite, MetadataOfTheTraceGoesBeforeWhatTablesSay) {
  TraceBuilder builder;
  builder.processes().push_back({.pid = 9, .rank = 3});
  builder.metadata().push_back(
      {ProcessId(0), builder.intern("distributedInfo"), builder.intern("{\"rank\": 5}")});
  const std::string json = exported_json(*std::move(builder).build());
  EXPECT_EQ(count(json, "distributedInfo"), 1u);
  EXPECT_THAT(json, HasSubstr(R"("distributedInfo": {"rank": 5})"));
}

// A launch and a kernel with one correlation. `flows` says whether the trace has an arrow between
// them.
std::string launch_json(bool flows) {
  OneThread trace;
  const TrackId stream = trace.builder.tracks().push_back(
      {.process = trace.process, .kind = TrackKind::Stream, .id = 7, .device_index = 0});
  SpanRow call = trace.span("cudaLaunchKernel", 0, 5);
  call.kind = SpanKind::CudaRuntime;
  call.correlation = 671;
  const SpanId from = trace.add(call);
  SpanRow other = trace.span("cudaFuncGetAttributes", 10, 5);
  other.kind = SpanKind::CudaRuntime;
  other.correlation = 672;
  trace.add(other);
  SpanRow kernel = trace.span("gemm", 20, 5);
  kernel.kind = SpanKind::Kernel;
  kernel.correlation = 671;
  kernel.track = stream;
  const SpanId to = trace.add(kernel);
  if (flows) {
    FlowRow row;
    row.id = 671;
    row.kind = FlowKind::CpuToGpu;
    row.from_span = from;
    row.to_span = to;
    trace.builder.flows().push_back(row);
  }
  return trace.json();
}

TEST(KinetoWrite, DrawsArrowsFromCallsToTheWorkTheyLaunched) {
  const std::string json = launch_json(true);
  EXPECT_THAT(json, HasSubstr(R"({
    "ph": "s", "id": 671, "pid": 42, "tid": 43, "ts": 0.000,
    "cat": "ac2g", "name": "ac2g"
  })"));
  EXPECT_THAT(json, HasSubstr(R"({
    "ph": "f", "id": 671, "pid": 0, "tid": 7, "ts": 0.020,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  })"));
}

TEST(KinetoWrite, FindsTheArrowsOfATraceThatHasNone) {
  EXPECT_EQ(launch_json(false), launch_json(true));
}

TEST(KinetoWrite, DeviceWorkSaysItsDeviceAndStream) {
  const std::string json = launch_json(true);
  EXPECT_THAT(json, HasSubstr(R"("device": 0, "stream": 7, "correlation": 671)"));
  EXPECT_THAT(json, HasSubstr(R"("labels": "GPU 0")"));
}

TEST(KinetoWrite, AsyncSpansArePairs) {
  OneThread trace;
  const TrackId other = trace.builder.tracks().push_back({.process = trace.process, .id = 44});
  SpanRow row = trace.span("request", 1000, 5000);
  row.kind = SpanKind::Async;
  row.flags = SpanFlags::kAsync;
  row.end_track = other;
  trace.add(row);
  trace.add(trace.span("work", 2000, 9000));
  const std::string json = trace.json();
  EXPECT_THAT(json, HasSubstr(R"({
    "ph": "b", "id": 1, "cat": "async", "name": "request", "pid": 42, "tid": 43,
    "ts": 1.000,
    "args": {
      "End thread": 44
    }
  })"));
  EXPECT_THAT(json, HasSubstr(R"({
    "ph": "e", "id": 1, "cat": "async", "name": "request", "pid": 42, "tid": 43,
    "ts": 6.000
  })"));
  EXPECT_THAT(json, Not(HasSubstr("overlap")));
}

TEST(KinetoWrite, PointsStandBehindTheSpansThatStartBeforeThem) {
  OneThread trace;
  trace.add(trace.span("first", 1000, 1000));
  trace.add(trace.span("second", 3000, 1000));
  InstantRow instant;
  instant.time_ns = 3000;
  instant.track = trace.track;
  instant.name = trace.builder.intern("mark");
  trace.builder.instants().push_back(instant);
  CounterRow counter;
  counter.time_ns = 1500;
  counter.track = trace.track;
  counter.name = trace.builder.intern("loss");
  counter.value = 0.25;
  trace.builder.counters().push_back(counter);
  const std::string json = trace.json();
  const std::vector<std::size_t> places = {json.find("\"first\""), json.find("\"loss\""),
                                           json.find("\"second\""), json.find("\"mark\"")};
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  EXPECT_NE(places.back(), std::string::npos);
  EXPECT_THAT(json, HasSubstr("\"loss\": 0.25"));
}

TEST(KinetoWrite, SeriesOfOneCounterShareAnEvent) {
  OneThread trace;
  for (const char* series : {"used", "free"}) {
    CounterRow row;
    row.track = trace.track;
    row.name = trace.builder.intern("memory");
    row.series = trace.builder.intern(series);
    trace.builder.counters().push_back(row);
  }
  EXPECT_THAT(trace.json(), HasSubstr(R"("used": 0, "free": 0)"));
}

TEST(KinetoWrite, NoTwoTracksShareALine) {
  const std::string json = exported_json(sketch(R"(
      proc0/main       aa
      proc0/thread0    bb
      gpu0/stream0     kk
      proc1/gpu0/stream0  ll
  )"));
  const std::regex line(R"re("name": "(\w)", ("pid": \d+, "tid": \d+))re");
  std::map<std::string, std::string> lines;
  for (std::sregex_iterator at(json.begin(), json.end(), line), end; at != end; ++at) {
    EXPECT_TRUE(lines.emplace((*at)[2], (*at)[1]).second) << (*at)[2];
  }
  EXPECT_EQ(lines.size(), 4u);
}

}  // namespace
}  // namespace sonde
