// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/read_kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "convert/testing/read_text.h"

namespace sonde {
namespace {

using testing::extra;
using testing::ledger_count;
using testing::read;
using testing::read_events;

TEST(KinetoRead, KeepsTimesToTheNanosecond) {
  const Trace trace = read(R"({"baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
    {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 3848419624188.359, "dur": 407.412}]})");
  EXPECT_EQ(trace.spans().start_ns[SpanId(0)], 1794705445624188359);
  EXPECT_EQ(trace.spans().duration_ns[SpanId(0)], 407412);
}

TEST(KinetoRead, AddsABaseThatStandsBehindTheEvents) {
  const Trace trace = read(R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}],
    "baseTimeNanoseconds": 1000000})");
  EXPECT_EQ(trace.spans().start_ns[SpanId(0)], 1001000);
}

TEST(KinetoRead, TakesTimesInAnyNotation) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "tid": 1, "ts": 1.5e3, "dur": "2"},
    {"ph": "X", "name": "b", "tid": 2, "ts": 12345678901234567890e-6, "dur": 0.0004},
    {"ph": "X", "name": "c", "tid": 3, "ts": -2.5})");
  EXPECT_EQ(trace.spans().start_ns[SpanId(0)], 1500000);
  EXPECT_EQ(trace.spans().duration_ns[SpanId(0)], 2000);
  EXPECT_EQ(trace.spans().start_ns[SpanId(1)], 12345678901234568);
  EXPECT_EQ(trace.spans().duration_ns[SpanId(1)], 0);
  EXPECT_EQ(trace.spans().start_ns[SpanId(2)], -2500);
}

// The reader learns what an event looks like from earlier ones, which may have had fewer spaces.
TEST(KinetoRead, TakesSpacesThatTheEventsBeforeDidNotHave) {
  const Trace trace = read_events(R"(
    {"ph":"X","name":"a","cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":2,"id":3,"args":{"External id":5,"x":1}},
    {"ph":"X","name": "a","cat":"cpu_op","pid":1,"tid":1,"ts": 4,"dur": 2,"id": 3,"args":{"External id": 6,"x": 2}},
    {"ph":"X","name":"a","cat":"cpu_op","pid":1,"tid":1,"ts":7,"dur":2,"id":3,"args":{"External id":
      7,"x":	3}},
    {"ph":"X","name": 	"a","cat": "cpu_op","pid": 1,"tid": 1,"ts":10,"dur": 2,"id":3,"args":{"x": 4,"External id": 8}})");
  EXPECT_TRUE(trace.ledger().empty());
  ASSERT_EQ(trace.spans().size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(trace.name(SpanId(i)), "a");
    EXPECT_EQ(trace.spans().start_ns[SpanId(i)], 1000 + 3000 * i);
    EXPECT_EQ(trace.spans().duration_ns[SpanId(i)], 2000);
    EXPECT_EQ(trace.spans().external_id[SpanId(i)], 5 + i);
  }
}

TEST(KinetoRead, TakesArgumentsBehindEventsThatHaveOtherValuesThere) {
  for (const char* other : {"null", "[]", "\"\"", "1"}) {
    const Trace trace = read_events(R"(
      {"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": )" +
                                    std::string(other) + R"(},
      {"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 4, "dur": 2, "args": {"External id": 6}})");
    ASSERT_EQ(trace.spans().size(), 2U) << other;
    EXPECT_EQ(trace.spans().external_id[SpanId(1)], 6) << other;
    EXPECT_EQ(trace.extras().size(), 1U) << other;
    EXPECT_EQ(extra(trace, "event.args"), other);
  }
}

TEST(KinetoRead, PutsDeviceWorkOnStreamsOfTheProcessThatRecorded) {
  const Trace trace = read_events(R"(
    {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 42, "tid": 43, "ts": 1, "dur": 9},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 1,
     "args": {"device": 0, "stream": 7, "correlation": 5, "grid": [1, 2, 3]}})");
  ASSERT_EQ(trace.tracks().size(), 2U);
  EXPECT_EQ(trace.processes().size(), 1U);
  EXPECT_EQ(trace.processes().pid[ProcessId(0)], 42);
  EXPECT_EQ(trace.tracks().kind[TrackId(1)], TrackKind::Stream);
  EXPECT_EQ(trace.tracks().device_index[TrackId(1)], 0);
  EXPECT_EQ(trace.tracks().id[TrackId(1)], 7);
  EXPECT_EQ(trace.kernels().grid_z[KernelId(0)], 3);
  EXPECT_TRUE(trace.extras().empty());
}

TEST(KinetoRead, JoinsWorkOfAGraphToTheCallThatCapturedIt) {
  const Trace trace = read_events(R"json(
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 42, "tid": 43, "ts": 1, "dur": 1,
     "args": {"cbid": 211, "correlation": 5}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "dur": 1,
     "args": {"device": 0, "stream": 7, "graph node id": 3, "captured by correlation": 5}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 0, "tid": 7, "ts": 11, "dur": 1,
     "args": {"device": 0, "stream": 7, "bytes": 1, "captured by correlation": 6}})json");
  const SpanId call = trace.kernels().captured_by[KernelId(0)];
  ASSERT_TRUE(call.valid());
  EXPECT_EQ(trace.name(call), "cudaLaunchKernel");
  EXPECT_FALSE(trace.copies().captured_by[CopyId(0)].valid());
  // There is no such call.
  EXPECT_EQ(extra(trace, "captured by correlation"), "6");
}

TEST(KinetoRead, TellsAProcessFromADeviceOfTheSameNumber) {
  const Trace trace = read_events(R"(
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "train"}},
    {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU"}},
    {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "GPU 1"}},
    {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 1, "ts": 1, "dur": 9})");
  ASSERT_EQ(trace.tracks().size(), 2U);
  EXPECT_EQ(trace.tracks().kind[TrackId(0)], TrackKind::Thread);
  EXPECT_EQ(trace.tracks().kind[TrackId(1)], TrackKind::Stream);
  EXPECT_EQ(trace.string(trace.processes().name[ProcessId(0)]), "train");
  EXPECT_EQ(trace.string(trace.devices().label[DeviceId(0)]), "GPU 1");
}

TEST(KinetoRead, KnowsDevicesThatAreNoGpus) {
  const Trace trace = read_events(R"(
    {"ph": "M", "name": "process_labels", "pid": 9, "args": {"labels": "MTIA 9"}},
    {"ph": "M", "name": "process_labels", "pid": 100, "args": {"labels": "CPU"}},
    {"ph": "X", "cat": "mtia_runtime", "name": "run", "pid": 100, "tid": 1, "ts": 1, "dur": 9,
     "args": {"correlation": 3}},
    {"ph": "X", "cat": "mtia_ccp_events", "name": "job", "pid": 9, "tid": 8, "ts": 1, "dur": 9,
     "args": {"correlation": 3}},
    {"ph": "X", "cat": "mtia_runtime", "name": "sync", "pid": 9, "tid": 8, "ts": 20, "dur": 1})");
  ASSERT_EQ(trace.tracks().size(), 2U);
  EXPECT_EQ(trace.tracks().kind[TrackId(0)], TrackKind::Thread);
  EXPECT_EQ(trace.tracks().kind[TrackId(1)], TrackKind::Stream);
  EXPECT_EQ(trace.tracks().device_index[TrackId(1)], 9);
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.devices().type[DeviceId(0)], DeviceType::Mtia);
  EXPECT_EQ(trace.name(trace.spans().launch[SpanId(1)]), "run");
}

TEST(KinetoRead, ReadsCallsOfAllDevicesIntoTheirColumns) {
  for (const char* kind : {"cuda_runtime", "cuda_driver", "xpu_runtime", "mtia_runtime"}) {
    const Trace trace = read_events(R"({"ph": "X", "name": "launch", "pid": 1, "tid": 1, "ts": 1,
      "dur": 2, "args": {"context": 5}, "cat": ")" +
                                    std::string(kind) + "\"}");
    ASSERT_EQ(trace.api_calls().size(), 1U) << kind;
    EXPECT_EQ(trace.api_calls().context[ApiCallId(0)], 5) << kind;
    EXPECT_TRUE(trace.extras().empty()) << kind;
  }
}

TEST(KinetoRead, KeepsTheOlderNamesOfMtiasWork) {
  for (const std::string_view category : {"mtia_workload", "mtia_workloadd"}) {
    const Trace trace = read_events(R"({"ph": "X", "name": "job", "pid": 9, "tid": 8, "ts": 1,
                                        "dur": 9, "cat": ")" +
                                    std::string(category) + "\"}");
    EXPECT_EQ(trace.spans().kind[SpanId(0)], SpanKind::MtiaWorkload) << category;
  }
}

TEST(KinetoRead, KeepsTheFirstNameOfAThreadAndTheOthersAsExtras) {
  const Trace trace = read_events(R"(
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "autograd"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "python"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "autograd"}})");
  EXPECT_EQ(trace.string(trace.tracks().name[TrackId(0)]), "autograd");
  ASSERT_EQ(trace.extras().size(), 1U);
  EXPECT_EQ(extra(trace, "thread_name"), "\"python\"");
}

TEST(KinetoRead, KeepsIdsThatAreNoNumbers) {
  const Trace trace = read_events(
      R"({"ph": "X", "name": "a", "pid": "CPU functions", "tid": "main", "ts": 1, "dur": 1})");
  EXPECT_EQ(trace.string(trace.processes().foreign_id[ProcessId(0)]), "\"CPU functions\"");
  EXPECT_EQ(trace.string(trace.tracks().foreign_id[TrackId(0)]), "\"main\"");
}

TEST(KinetoRead, SharesTheArgumentsOfEqualCalls) {
  const std::string call = R"({"ph": "X", "cat": "cpu_op", "name": "aten::cat", "ts": 1, "dur": 1,
    "args": {"Concrete Inputs": ["", "1"], "Input type": ["TensorList", "Scalar"],
             "Input Strides": [[[2, 1], [1]], []], "Input Dims": [[[3, 2], [4]], []]}})";
  const Trace trace = read_events(call + "," + call + "," + call);
  ASSERT_EQ(trace.argument_lists().size(), 1U);
  for (const SpanId span : trace.all_spans()) {
    EXPECT_EQ(trace.spans().arguments[span], ArgumentListId(0));
  }
  const OpArgumentTable& arguments = trace.op_arguments();
  ASSERT_EQ(arguments.size(), 4U);
  EXPECT_EQ(arguments.kind[OpArgumentId(0)], ArgumentKind::TensorList);
  EXPECT_EQ(arguments.element[OpArgumentId(2)], 1);
  EXPECT_EQ(arguments.dims_count[OpArgumentId(1)], 2);
  EXPECT_EQ(arguments.kind[OpArgumentId(3)], ArgumentKind::Scalar);
  EXPECT_EQ(trace.string(arguments.value[OpArgumentId(3)]), "1");
}

TEST(KinetoRead, KeepsArraysThatAreNoArguments) {
  const Trace trace = read_events(R"({"ph": "X", "name": "a", "ts": 1, "dur": 1,
    "args": {"Input Dims": [[1], [2]], "Input type": ["float"]}})");
  EXPECT_TRUE(trace.argument_lists().empty());
  EXPECT_EQ(extra(trace, "Input Dims"), "[[1], [2]]");
  EXPECT_EQ(extra(trace, "Input type"), "[\"float\"]");
}

TEST(KinetoRead, KeepsArraysOfEventsThatAreNoCalls) {
  const std::string args = R"("name": "a", "ts": 1, "args": {"Input Dims": [[1]]}})";
  const Trace trace = read_events(R"({"ph": "X", )" + args + R"(,{"ph": "i", )" + args);
  ASSERT_EQ(trace.instants().size(), 1U);
  EXPECT_EQ(extra(trace, "Input Dims"), "[[1]]");
}

TEST(KinetoRead, SplitsStacksIntoFramesThatAreShared) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "ts": 1, "dur": 1, "args": {"Call stack": "m.py(3): f;t.py(1): <module>;"}},
    {"ph": "X", "name": "b", "ts": 5, "dur": 1, "args": {"Call stack": "<built-in>;t.py(1): <module>;"}})");
  ASSERT_EQ(trace.stacks().size(), 3U);
  const StackId inner = trace.spans().stack[SpanId(0)];
  const FrameId frame = trace.stacks().frame[inner];
  EXPECT_EQ(trace.string(trace.frames().file[frame]), "m.py");
  EXPECT_EQ(trace.frames().line[frame], 3);
  EXPECT_EQ(trace.string(trace.frames().function[frame]), "f");
  EXPECT_EQ(trace.stacks().parent[inner], trace.stacks().parent[trace.spans().stack[SpanId(1)]]);
}

TEST(KinetoRead, ReadsCountersOneRowForEachSeries) {
  const Trace trace = read_events(R"(
    {"ph": "C", "name": "memory", "pid": 1, "ts": 1, "args": {"used": 3, "free": 1.5}},
    {"ph": "C", "name": "load", "pid": 1, "ts": 2, "args": {"load": 7}},
    {"ph": "C", "name": "odd", "pid": 1, "ts": 2, "args": {"odd": "much"}})");
  ASSERT_EQ(trace.counters().size(), 3U);
  EXPECT_EQ(trace.string(trace.counters().series[CounterId(1)]), "free");
  EXPECT_EQ(trace.counters().value[CounterId(1)], 1.5);
  EXPECT_FALSE(trace.counters().series[CounterId(2)].valid());
  EXPECT_NE(extra(trace, "event").find("much"), std::string::npos);
}

TEST(KinetoRead, KeepsThePhaseOfInstantsAndTheIdOfCounters) {
  const Trace trace = read_events(R"(
    {"ph": "n", "cat": "io", "name": "half", "id": 1, "ts": 3},
    {"ph": "C", "name": "memory", "id": "gpu0", "ts": 1, "args": {"used": 3}})");
  ASSERT_EQ(trace.extras().size(), 3U);
  EXPECT_EQ(extra(trace, "event.id"), "\"gpu0\"");
  EXPECT_EQ(extra(trace, "event.ph"), "\"n\"");
  EXPECT_EQ(trace.string(trace.extras().value[ExtraId(2)]), "1") << "the instant's id";
}

TEST(KinetoRead, ReadsMemoryEventsAsAllocations) {
  const Trace trace = read_events(R"(
    {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1,
     "ts": 1, "args": {"Total Reserved": 9, "Total Allocated": 8, "Bytes": -4, "Device Id": 0,
     "Device Type": 1, "Addr": 18446744073709551615, "finished": false, "Ev Idx": 3}})");
  const AllocationTable& rows = trace.allocations();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.bytes[AllocationId(0)], -4);
  EXPECT_EQ(rows.address[AllocationId(0)], 18446744073709551615U);
  EXPECT_EQ(rows.device_type[AllocationId(0)], DeviceType::Cuda);
  EXPECT_TRUE(trace.extras().empty());
}

TEST(KinetoRead, TellsAnnotationsStepsAndScopesApart) {
  const Trace trace = read_events(R"(
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "ts": 1, "dur": 9,
     "args": {"External id": 1, "Ev Idx": 0}},
    {"ph": "X", "cat": "user_annotation", "name": "forward", "ts": 2, "dur": 1, "args": {"Ev Idx": 2}},
    {"ph": "X", "cat": "user_annotation", "name": "ours", "ts": 4, "dur": 1},
    {"ph": "X", "cat": "Node", "name": "conv", "ts": 6, "dur": 1, "args": {"op_name": "Conv"}})");
  const SpanTable& spans = trace.spans();
  EXPECT_EQ(spans.kind[SpanId(0)], SpanKind::Step);
  EXPECT_EQ(spans.step[SpanId(0)], 7);
  EXPECT_EQ(spans.kind[SpanId(1)], SpanKind::UserAnnotation);
  EXPECT_EQ(spans.scope[SpanId(1)], RecordScope::UserScope);
  EXPECT_EQ(spans.kind[SpanId(2)], SpanKind::Scope);
  EXPECT_EQ(spans.kind[SpanId(3)], SpanKind::Other);
  EXPECT_EQ(trace.string(spans.category[SpanId(3)]), "Node");
  EXPECT_EQ(extra(trace, "op_name"), "\"Conv\"");
}

TEST(KinetoRead, KeepsUnknownKeysAndUnknownEvents) {
  const Trace trace = read_events(R"(
    {"ph": "X", "name": "a", "ts": 1, "dur": 1, "tts": 5, "args": {"queued": 3, "correlation": 1.5}},
    {"ph": "D", "name": "object", "id": 3})");
  EXPECT_EQ(extra(trace, "event.tts"), "5");
  EXPECT_EQ(extra(trace, "queued"), "3") << "no kernel";
  EXPECT_EQ(extra(trace, "correlation"), "1.5") << "no integer";
  EXPECT_EQ(extra(trace, "event"), R"({"ph": "D", "name": "object", "id": 3})");
}

TEST(KinetoRead, PutsLanesBackOnTheirTrack) {
  const Trace trace = read_events(R"j(
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 5, "args": {"name": "t"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1000005, "args": {"name": "t (overlap 1)"}},
    {"ph": "M", "name": "thread_lane_of", "pid": 1, "tid": 1000005, "args": {"tid": 5}},
    {"ph": "X", "name": "a", "pid": 1, "tid": 5, "ts": 1, "dur": 5},
    {"ph": "X", "name": "b", "pid": 1, "tid": 1000005, "ts": 3, "dur": 5})j");
  ASSERT_EQ(trace.tracks().size(), 1U);
  EXPECT_EQ(trace.track_spans(TrackId(0)).size(), 2U);
  EXPECT_EQ(trace.string(trace.tracks().name[TrackId(0)]), "t");
  EXPECT_TRUE(trace.extras().empty());
}

TEST(KinetoRead, ReadsAWindowOnlyFromItsFourEvents) {
  const std::string window = R"j(
    {"ph": "X", "cat": "Trace", "ts": 1, "dur": 5, "pid": "Spans", "tid": "P", "name": "P (0)",
     "args": {"Op count": 0}},
    {"name": "process_sort_index", "ph": "M", "ts": 1, "pid": "Spans", "tid": 0,
     "args": {"sort_index": 536870912}},
    {"name": "Iteration Start: P", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace P", "ts": 1},
    {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 9})j";
  const Trace trace = read_events(window);
  ASSERT_EQ(trace.windows().size(), 1U);
  EXPECT_EQ(trace.windows().end_ns[WindowId(0)], 6000);
  EXPECT_EQ(trace.windows().closed_ns[WindowId(0)], 9000);
  EXPECT_EQ(trace.string(trace.windows().name[WindowId(0)]), "P");
  EXPECT_EQ(trace.spans().size() + trace.instants().size() + trace.tracks().size(), 0U);

  const Trace cut = read_events(window.substr(0, window.rfind(",\n    {")));
  EXPECT_EQ(cut.windows().size(), 0U);
  EXPECT_EQ(cut.spans().kind[SpanId(0)], SpanKind::TraceSpan);
  EXPECT_EQ(cut.instants().size(), 1U);
}

TEST(KinetoRead, FillsProcessesFromWhatTheFileSaysOfItself) {
  const Trace trace = read(R"({"schemaVersion": 1, "host_name": "node7",
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
    "deviceProperties": [{"id": 0, "name": "H200", "numSms": 132, "vendor": "N"}],
    "traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})");
  EXPECT_EQ(trace.processes().rank[ProcessId(0)], 3);
  EXPECT_EQ(trace.processes().world_size[ProcessId(0)], 8);
  EXPECT_EQ(trace.string(trace.processes().host[ProcessId(0)]), "node7");
  EXPECT_EQ(trace.devices().multiprocessors[DeviceId(0)], 132);
  EXPECT_EQ(extra(trace, "vendor"), "\"N\"");
  EXPECT_EQ(trace.metadata().size(), 3U);
}

TEST(KinetoRead, ReadsCollectivesAndSyncs) {
  const Trace trace = read_events(R"(
    {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 5, "ts": 1, "dur": 1, "args":
     {"Collective name": "allreduce", "In msg nelems": 4, "dtype": "Float", "Group size": 2,
      "Process Group Ranks": "[0, 1]", "Comms Id": 18446744073709551615, "Is asynchronized op": 1}},
    {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 2, "dur": 1,
     "args": {"cuda_sync_kind": "Stream Sync", "stream": 7, "correlation": 4, "device": 0, "context": 1}})");
  ASSERT_EQ(trace.collectives().size(), 1U);
  EXPECT_EQ(trace.string(trace.collectives().group_ranks[CollectiveId(0)]), "[0, 1]");
  EXPECT_EQ(trace.collectives().comms_id[CollectiveId(0)], 18446744073709551615U);
  ASSERT_EQ(trace.syncs().size(), 1U);
  EXPECT_EQ(trace.syncs().kind[SyncId(0)], SyncKind::Stream);
  EXPECT_TRUE(trace.extras().empty());
}

TEST(KinetoRead, ReadsWhatAKernelsNameAndArgumentsSay) {
  const Trace trace = read_events(R"j(
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7,
     "ts": 1, "dur": 1, "args": {"bytes": 64, "memory bandwidth (GB/s)": "N/A", "device": 1}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 3, "dur": 1, "args":
     {"occupancy": {"activeBlocksPerMultiprocessor": 4, "limitingFactors": "REGS|SMEM"}}})j");
  const CopyTable& copies = trace.copies();
  EXPECT_EQ(copies.kind[CopyId(0)], CopyKind::HtoD);
  EXPECT_EQ(copies.source_kind[CopyId(0)], MemoryKind::Pageable);
  EXPECT_EQ(copies.destination_kind[CopyId(0)], MemoryKind::Device);
  EXPECT_EQ(extra(trace, "memory bandwidth (GB/s)"), "\"N/A\"");
  EXPECT_EQ(extra(trace, "device"), "1") << "another than its pid says";
  EXPECT_EQ(trace.kernels().active_blocks_per_sm[KernelId(0)], 4);
  EXPECT_EQ(trace.string(trace.kernels().limiting_factors[KernelId(0)]), "REGS|SMEM");
}

TEST(KinetoRead, IsTheSameWhereverTheTextIsCutForThreads) {
  std::string events;
  constexpr int kEvents = 6000;
  const std::string padding(1300, ' ');
  for (int i = 0; i < kEvents; ++i) {
    const std::string n = std::to_string(i);
    const char* tab = i % 99 == 98 ? "\t" : "";  // invalid JSON: becomes a row of the ledger
    events += R"({"ph": "X", "cat": "cpu_op", "name": "op)" + std::to_string(i % 99) + tab +
              R"(", "pid": 1, "tid": )" + std::to_string(i % 3) + R"(, "ts": )" + n +
              R"(.125, "dur": 1.5, "args": {"External id": )" + n +
              R"(, "note": [{"name": "looks like an event", "ph": "X"}, {"id": )" + n + R"(}]}},)" +
              padding;
  }
  events.resize(events.rfind(','));
  const std::string text = R"({"traceEvents": [)" + events + R"(], "traceName": "x"})";
  ASSERT_GT(text.size(), 8U << 20) << "more than one stretch";
  const Trace one = read(text, 1);
  EXPECT_EQ(one.spans().size(), kEvents);
  EXPECT_EQ(ledger_count(one, LedgerKind::Note), 1U);
  EXPECT_EQ(testing::dumped(one), testing::dumped(read(text, 3)));
}

}  // namespace
}  // namespace sonde
