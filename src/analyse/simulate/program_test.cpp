// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/simulate/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/critical_path.h"
#include "sonde/analyse/what_if.h"
#include "sonde/open.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using detail::Changes;
using detail::Program;
using testing::OpTrace;

void launch(OpTrace& t, std::int64_t number, Nanos call_us, Nanos begin_us, Nanos end_us,
            std::string_view name = "k") {
  t.runtime("cudaLaunchKernel", call_us, call_us + 2).correlation(number);
  t.kernel(name, begin_us, end_us).correlation(number);
}

Nanos without(const Trace& trace, const std::string& name) {
  return what_if(trace, {.remove = {name}}).simulated_ns;
}

// From the first span until the main thread and all devices are done.
Nanos end_to_end_ns(const Trace& trace, TrackId main) {
  Nanos first_ns = trace.last_ns();
  Nanos last_ns = trace.first_ns();
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = trace.spans().kind[span];
    if (kind == SpanKind::TraceSpan) continue;
    first_ns = std::min(first_ns, trace.spans().start_ns[span]);
    if (is_device_work(kind) || trace.spans().track[span] == main)
      last_ns = std::max(last_ns, trace.end_ns(span));
  }
  return last_ns - first_ns;
}

TEST(Simulation, GivesTheRecordedTimeOfEveryRealTrace) {
  const std::string torch = "torch-2.11-h200/";
  const std::string end = ".pt.trace.json.gz";
  for (const std::string& name :
       {torch + "transformer" + end, torch + "compiled" + end, torch + "graph_streams" + end,
        torch + "ranks4/rank0" + end, torch + "ranks4/rank1" + end, torch + "ranks4/rank2" + end,
        torch + "ranks4/rank3" + end, std::string("graphs/script.torch.json.gz"),
        std::string("graphs/compile.torch.json.gz"), std::string("graphs/compile.sonde"),
        std::string("graphs/script.sonde"), std::string("memory/cnn-sgd.sonde"),
        std::string("memory/transformer-adamw.sonde"), std::string("cupti/launches.sonde")}) {
    const Result<Trace> trace = open_trace(std::string(SONDE_TEST_DATA) + "/" + name);
    ASSERT_TRUE(trace) << name;
    const Program program(*trace);
    const auto recorded = static_cast<double>(end_to_end_ns(*trace, program.main_thread()));
    EXPECT_GT(recorded, 0) << name;
    EXPECT_NEAR(static_cast<double>(program.recorded_ns()), recorded, 0.02 * recorded) << name;
    EXPECT_EQ(program.length_ns(Changes(program)), program.recorded_ns()) << name;
  }
}

TEST(Simulation, GivesTheRecordedTimeIfNothingIsChanged) {
  OpTrace t;
  const TrackId other = t.thread(7);
  t.op("aten::mm", 3, 40);
  launch(t, 1, 10, 15, 300);
  launch(t, 2, 20, 301, 400);
  t.runtime("cudaDeviceSynchronize", 50, 405);
  t.op("aten::add", 410, 420);
  t.span("aten::mul", SpanKind::CpuOp, other, 430, 600);
  t.op("aten::add", 620, 640);
  const Trace trace = t.build();
  const Program program(trace);
  EXPECT_EQ(program.recorded_ns(), 637'000);
  EXPECT_EQ(program.length_ns(Changes(program)), 637'000);
}

TEST(Simulation, OfNothingTakesNoTime) {
  EXPECT_EQ(what_if(Trace(), {}).simulated_ns, 0);
}

TEST(Simulation, ShortensAThread) {
  OpTrace t;
  t.op("aten::mm", 0, 100);
  t.op("aten::add", 120, 150);
  const Trace trace = t.build();
  EXPECT_EQ(without(trace, "aten::mm"), 50'000);  // what is between them stays
  EXPECT_EQ(what_if(trace, {.scale = {{"aten::*", 0.5}}}).simulated_ns, 85'000);
}

TEST(Simulation, CountsNestedMatchesOnce) {
  OpTrace t;
  t.op("aten::convolution", 0, 100);
  t.op("aten::convolution_impl", 10, 90);
  const WhatIfAnswer answer = what_if(t.build(), {.scale = {{"aten::convolution*", 0.5}}});
  EXPECT_EQ(answer.simulated_ns, 50'000);
  EXPECT_EQ(answer.matches[0].spans, 1U);
}

TEST(Simulation, SavesNothingOnTheHostWhileTheDeviceIsBehind) {
  OpTrace t;
  for (int i = 0; i < 5; ++i) launch(t, i + 1, 10 * i, 100 * i + 20, 100 * i + 120);
  t.op("aten::item", 60, 525);
  t.runtime("cudaStreamSynchronize", 61, 524);
  const Trace trace = t.build();
  EXPECT_EQ(without(trace, "cudaLaunchKernel"), 525'000);
  // The delays before the kernels are gone as well.
  EXPECT_EQ(without(trace, "k"), 5'000 + 60'000 + 5'000 - 5'000 - 1'000);
}

TEST(Simulation, LetsTheHostRunAheadWithoutWaits) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {  // the host waits for each kernel, then works as long again
    launch(t, i + 1, 200 * i, 200 * i + 5, 200 * i + 100);
    t.runtime("cudaStreamSynchronize", 200 * i + 3, 200 * i + 102);
    t.op("aten::add", 200 * i + 102, 200 * i + 199);
  }
  const WhatIfAnswer answer = what_if(t.build(), {.no_sync = true});
  EXPECT_EQ(answer.waits, 10U);
  EXPECT_LT(answer.simulated_ns, answer.recorded_ns * 6 / 10);
  EXPECT_GT(answer.simulated_ns, answer.recorded_ns * 4 / 10);
}

TEST(Simulation, KnowsThatTheMainThreadWaitsForTheGradients) {
  OpTrace t;
  const TrackId engine = t.thread(7);
  for (int i = 0; i < 3; ++i) {
    t.op("aten::mm", 1000 * i, 1000 * i + 300);
    t.span("MmBackward0", SpanKind::CpuOp, engine, 1000 * i + 310, 1000 * i + 890);
    t.op("aten::add_", 1000 * i + 900, 1000 * i + 1000);
  }
  const Trace trace = t.build();
  EXPECT_EQ(without(trace, "MmBackward0"), 3'000'000 - 3 * 580'000);
  EXPECT_EQ(without(trace, "aten::mm"), 3'000'000 - 3 * 300'000);
}

TEST(Simulation, WaitsForWorkOfAnotherStream) {
  OpTrace t;
  const TrackId copies = t.builder().tracks().push_back(
      {.process = ProcessId(0), .kind = TrackKind::Stream, .id = 8, .device_index = 0});
  t.runtime("cudaMemcpyAsync", 0, 2).correlation(1);
  t.span("Memcpy HtoD", SpanKind::GpuMemcpy, copies, 5, 200).correlation(1);
  launch(t, 2, 10, 201, 300);  // launched in time, begins when the copy is over
  const Trace trace = t.build();
  EXPECT_EQ(Program(trace).recorded_ns(), 300'000);
  EXPECT_LT(without(trace, "Memcpy*"), 120'000);
}

TEST(Simulation, TellsWhatAStepWouldTake) {
  OpTrace t;
  for (int i = 0; i < 4; ++i) {
    t.span("ProfilerStep#" + std::to_string(i), SpanKind::Step, t.main(), 1000 * i, 1000 * i + 990);
    t.op("aten::mm", 1000 * i, 1000 * i + 500);
  }
  const WhatIfAnswer answer = what_if(t.build(), {.scale = {{"aten::mm", 0.5}}});
  EXPECT_EQ(answer.recorded_step_ns, 990'000);
  EXPECT_EQ(answer.simulated_step_ns, 740'000);
}

TEST(CriticalPathOfATrace, AddsUpToItsLength) {
  OpTrace t;
  t.op("aten::mm", 0, 40);
  launch(t, 1, 10, 15, 300, "gemm");
  t.runtime("cudaDeviceSynchronize", 50, 305);
  t.op("aten::add", 330, 420);
  const CriticalPath path = critical_path(t.build());
  Nanos total_ns = 0;
  for (const PathEntry& entry : path.entries) total_ns += entry.time_ns;
  EXPECT_EQ(total_ns, path.length_ns);
  EXPECT_EQ(path.length_ns, 420'000);
  ASSERT_GE(path.entries.size(), 2U);
  EXPECT_EQ(path.entries[0].name, "gemm");
  EXPECT_EQ(path.entries[0].kind, PathKind::Kernel);
  EXPECT_EQ(path.entries[0].where, "device 0, stream 7");
  EXPECT_EQ(path.entries[0].next, "aten::add");
  EXPECT_EQ(path.entries[1].name, "aten::add");
  EXPECT_EQ(path.entries[1].without_ns, 330'000);
}

TEST(CriticalPathOfATrace, OfNothingIsEmpty) {
  EXPECT_TRUE(critical_path(Trace()).entries.empty());
}

}  // namespace
}  // namespace sonde
