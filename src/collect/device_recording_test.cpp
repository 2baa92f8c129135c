// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Work of devices through the C interface, from a source's call to the rows of a trace.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "collect/testing/recorded.h"
#include "sonde/detail/put_record.h"
#include "sonde/source/device.h"
#include "sonde/source/op.h"
#include "trace/testing/temp_dir.h"
#include "wire/sized.h"

namespace sonde {
namespace {

using testing::find_span;

std::uint32_t name(const char* text) {
  return sonde_name(text, std::strlen(text));
}

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <typename Body>
Trace recorded(Body&& body) {
  const auto session = testing::open_session({});
  return testing::record_window(*session, std::forward<Body>(body));
}

sonde_device_span work(const char* what, std::uint8_t kind, std::uint64_t correlation,
                       std::int64_t start_ns = now_ns(), std::int64_t duration_ns = 1000) {
  return {sizeof(sonde_device_span),
          name(what),
          kind,
          SONDE_DEVICE_CUDA,
          0,
          start_ns,
          duration_ns,
          7,
          1,
          correlation};
}

void call(const char* what, std::uint64_t correlation) {
  const sonde_api_call call = {sizeof(call), name(what), SONDE_SPAN_CUDA_RUNTIME, 211, correlation};
  ASSERT_TRUE(sonde_api_begin(&call));
  sonde_end();
}

void begin_op(const char* what, std::uint8_t scope = 0) {
  const sonde_op op = {sizeof(op), name(what), scope, -1, 0, 0};
  ASSERT_TRUE(sonde_op_begin(&op));
}

sonde_device_allocation memory(std::uint8_t kind, std::int64_t bytes, std::uint64_t correlation) {
  return {sizeof(sonde_device_allocation),
          now_ns(),
          0x7f00'0000,
          bytes,
          SONDE_DEVICE_CUDA,
          kind,
          1,
          correlation};
}

TEST(DeviceRecording, TellsWhoTookMemoryOfADevice) {
  const Trace trace = recorded([] {
    begin_op("load", 7);
    call("cudaMalloc", 5);
    sonde_end();
    const sonde_device_allocation taken = memory(SONDE_MEMORY_MANAGED, 4096, 5);
    const sonde_device_allocation pinned = memory(SONDE_MEMORY_PINNED, -512, 0);
    sonde_device_allocated(&taken);
    sonde_device_allocated(&pinned);
  });
  const AllocationTable& rows = trace.allocations();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.bytes[0], 4096);
  EXPECT_EQ(rows.address[0], 0x7f00'0000u);
  EXPECT_EQ(rows.device_type[0], DeviceType::Cuda);
  EXPECT_EQ(rows.device_index[0], 1);
  EXPECT_EQ(rows.memory_kind[0], MemoryKind::Managed);
  EXPECT_EQ(rows.span[0], find_span(trace, "cudaMalloc"));
  EXPECT_EQ(rows.track[0], trace.spans().track[rows.span[0]]);
  EXPECT_EQ(rows.bytes[1], -512);
  EXPECT_EQ(rows.device_type[1], DeviceType::Cpu);
  EXPECT_FALSE(rows.span[1].valid());
}

TEST(DeviceRecording, LeavesMemoryToTheAllocatorOfATensorLibrary) {
  const Trace trace = recorded([] {
    const sonde_allocation piece = {sizeof(piece), 0x7f00'0100,       64, 64,
                                    4096,          SONDE_DEVICE_CUDA, 0,  1};
    sonde_allocated(&piece);
    const sonde_device_allocation whole = memory(SONDE_MEMORY_DEVICE, 4096, 0);
    sonde_device_allocated(&whole);
  });
  ASSERT_EQ(trace.allocations().size(), 1u);
  EXPECT_EQ(trace.allocations().bytes[0], 64);
}

TEST(DeviceRecording, OfCallsWithOneNumberTheLastLaunchedTheWork) {
  const Trace trace = recorded([] {
    begin_op("aten::add");
    call("cuLibraryLoadData", 9);
    call("cuLaunchKernel", 9);
    sonde_end();
    const sonde_device_span kernel = work("add_kernel", SONDE_SPAN_KERNEL, 9);
    sonde_device_ran(&kernel);
  });
  ASSERT_EQ(trace.flows().size(), 1u);
  EXPECT_EQ(trace.flows().from_span[0], find_span(trace, "cuLaunchKernel"));
}

// Copies of a struct, as in programs that were built with other versions of its header.
template <typename T>
struct AsBuiltElsewhere {
  AsBuiltElsewhere(const T& known, std::size_t size) {
    std::memset(bytes, 0xee, sizeof(bytes));
    std::memcpy(bytes, &known, std::min(size, sizeof(known)));
    const auto told = static_cast<std::uint32_t>(size);
    std::memcpy(bytes, &told, sizeof(told));
  }
  const T* get() const { return reinterpret_cast<const T*>(bytes); }
  alignas(T) unsigned char bytes[2 * sizeof(T)];
};

TEST(DeviceRecording, TakesStructsOfOtherVersions) {
  const Trace trace = recorded([] {
    const sonde_device_span span = work("whole", SONDE_SPAN_KERNEL, 42);
    auto kernel = sized<sonde_kernel>();
    kernel.grid[0] = 8;
    kernel.priority = 3;
    const auto run = [](const sonde_device_span& what, std::size_t size, const sonde_kernel& how,
                        std::size_t how_size) {
      sonde_kernel_ran(AsBuiltElsewhere(what, size).get(), AsBuiltElsewhere(how, how_size).get());
    };
    run(span, 2 * sizeof(span), kernel, 2 * sizeof(kernel));
    run(work("old", SONDE_SPAN_KERNEL, 43), offsetof(sonde_device_span, stream), kernel,
        offsetof(sonde_kernel, priority));
    run(work("no details", SONDE_SPAN_KERNEL, 44), sizeof(span), kernel, 0);
    run(work("nothing", SONDE_SPAN_KERNEL, 45), 0, kernel, sizeof(kernel));
  });
  EXPECT_EQ(trace.spans().size(), 3u);
  ASSERT_EQ(trace.kernels().size(), 3u);
  EXPECT_EQ(trace.kernels().grid_x[0], 8);
  EXPECT_EQ(trace.kernels().grid_x[1], 8);
  EXPECT_EQ(trace.kernels().priority[0], 3);
  EXPECT_EQ(trace.kernels().grid_x[2], 0) << "nothing is known of it";
  EXPECT_TRUE(trace.kernels().priority.is_null_at(1)) << "not known there";
  EXPECT_EQ(trace.spans().correlation[find_span(trace, "whole")], 42);
  EXPECT_EQ(trace.spans().correlation[find_span(trace, "old")], 0);
}

TEST(DeviceRecording, TakesOperatorsOfOtherVersions) {
  const Trace trace = recorded([] {
    const sonde_op op = {sizeof(op), name("op"), 0, 17, 0, 5};
    EXPECT_EQ(sonde_op_begin(AsBuiltElsewhere(op, 0).get()), 0);
    EXPECT_EQ(sonde_op_range_begin(AsBuiltElsewhere(op, 4).get()).position, 0u);
    for (const std::size_t size : {offsetof(sonde_op, sequence_number), 2 * sizeof(op)}) {
      ASSERT_EQ(sonde_op_begin(AsBuiltElsewhere(op, size).get()), 1);
      sonde_end();
    }
    const sonde_api_call call = {sizeof(call), name("call"), SONDE_SPAN_CUDA_RUNTIME, 1, 2};
    EXPECT_EQ(sonde_api_begin(AsBuiltElsewhere(call, 0).get()), 0);
    const sonde_allocation taken = {sizeof(taken), 0x7f00, 512, 4096, 8192, 1, 0, 2};
    sonde_allocated(AsBuiltElsewhere(taken, 0).get());
    sonde_allocated(AsBuiltElsewhere(taken, offsetof(sonde_allocation, device_type)).get());
  });
  ASSERT_EQ(trace.spans().size(), 2u);
  EXPECT_EQ(trace.spans().sequence_number[SpanId(0)], -1);
  EXPECT_EQ(trace.spans().sequence_number[SpanId(1)], 17);
  ASSERT_EQ(trace.allocations().size(), 1u);
  EXPECT_EQ(trace.allocations().total_reserved_bytes[0], 8192);
  EXPECT_EQ(trace.allocations().device_index[0], -1);
}

TEST(DeviceRecording, KeepsLongNamesOfKernelsWhole) {
  const std::string long_name = "void kernel<" + std::string(20'000, 'k') + ">";
  const Trace trace = recorded([&] {
    const auto launch = sized<sonde_kernel>();
    const sonde_device_span kernel = work(long_name.c_str(), SONDE_SPAN_KERNEL, 1);
    sonde_kernel_ran(&kernel, &launch);
  });
  EXPECT_EQ(trace.name(find_span(trace, long_name)), long_name);
}

TEST(DeviceRecording, InlinedCallsAreTheSame) {
  constexpr std::uint64_t kCalls = 20'000;
  detail::ThreadCursor& cursor = detail::sonde_detail_cursor;
  const Trace trace = recorded([&] {
    const std::uint32_t launch = name("cuLaunchKernel");
    for (std::uint64_t i = 1; i <= kCalls; ++i) {
      ASSERT_TRUE(detail::write_api_begin(
          cursor, {sizeof(sonde_api_call), launch, SONDE_SPAN_CUDA_DRIVER, 307, i}));
      detail::write_end(cursor);
    }
  });
  const SpanTable& spans = trace.spans();
  ASSERT_EQ(spans.size(), kCalls);
  // A coarse clock gives several of them one start.
  std::set<std::int64_t> correlations;
  for (const SpanId span : trace.all_spans()) {
    ASSERT_TRUE(correlations.insert(spans.correlation[span]).second);
    ASSERT_EQ(spans.kind[span], SpanKind::CudaDriver);
    ASSERT_EQ(trace.string(spans.name[span]), "cuLaunchKernel");
  }
  EXPECT_EQ(*correlations.begin(), 1);
  EXPECT_EQ(*correlations.rbegin(), static_cast<std::int64_t>(kCalls));
  EXPECT_FALSE(
      detail::write_api_begin(cursor, {sizeof(sonde_api_call), 1, SONDE_SPAN_CUDA_DRIVER, 307, 1}))
      << "nothing records";
}

// launch   copy   wait   host function   launch, captured   launch   (no proper end)
//   kernel
TEST(DeviceRecording, TellsWhoseWorkHadNotComeWhenItWasCutShort) {
  const testing::TempDir dir;
  const std::string path = dir.file("cut.sonde");
  const auto session = testing::open_session({.output = path});
  ASSERT_TRUE(session->begin_window(0));
  call("cudaLaunchKernel", 1);
  const sonde_device_span kernel = work("kernel", SONDE_SPAN_KERNEL, 1);
  sonde_device_ran(&kernel);
  call("cudaMemcpyAsync", 2);
  call("cudaStreamSynchronize", 3);
  call("cudaLaunchHostFunc_v10000", 6);
  const sonde_api_call captured = {sizeof(captured), name("cudaLaunchKernel"),
                                   SONDE_SPAN_CUDA_RUNTIME, 211, 4};
  ASSERT_TRUE(sonde_api_begin(&captured));
  sonde_graph_node(77, 0);
  sonde_end();
  call("cudaLaunchKernel", 5);

  const auto cut = open_sonde(path);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(testing::ledger_sum(*cut, LedgerKind::WorkMissing), 2u) << "the copy, the last launch";

  ASSERT_TRUE(session->close());
  const auto whole = open_sonde(path);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(testing::ledger_sum(*whole, LedgerKind::WorkMissing), 0u);
}

TEST(DeviceRecording, KeepsFactsInTheMetadata) {
  const Trace trace = recorded([] { sonde_metadata_is(name("cupti_version"), name("130001")); });
  std::map<std::string, std::string> metadata;
  for (std::size_t i = 0; i < trace.metadata().size(); ++i) {
    metadata[std::string(trace.string(trace.metadata().key[i]))] =
        trace.string(trace.metadata().value[i]);
  }
  EXPECT_EQ(metadata["cupti_version"], "130001");
}

TEST(DeviceRecording, JoinsWorkToTheOperatorThatLaunchedIt) {
  const Trace trace = recorded([] {
    begin_op("train", 7);
    begin_op("aten::mm");
    call("cudaLaunchKernel", 41);
    sonde_end();
    begin_op("aten::add");
    call("cudaLaunchKernel", 42);
    sonde_end();
    sonde_end();
    // In any order, and after the calls.
    const sonde_kernel launch = {
        sizeof(launch), {8, 2, 1}, {128, 1, 1}, {}, 32, 16, 64, 0, 0, 0, INT16_MIN, 0, 0};
    const sonde_device_span add = work("add_kernel", SONDE_SPAN_KERNEL, 42);
    const sonde_device_span mm = work("mm_kernel", SONDE_SPAN_KERNEL, 41);
    sonde_kernel_ran(&add, &launch);
    sonde_kernel_ran(&mm, &launch);
  });
  const SpanTable& spans = trace.spans();
  const SpanId op = find_span(trace, "aten::mm");
  const SpanId kernel = find_span(trace, "mm_kernel");
  EXPECT_NE(spans.external_id[op], 0);
  EXPECT_EQ(spans.external_id[kernel], spans.external_id[op]);
  EXPECT_EQ(spans.external_id[find_span(trace, "add_kernel")],
            spans.external_id[find_span(trace, "aten::add")]);
  EXPECT_EQ(spans.correlation[kernel], 41);
  const TrackId track = spans.track[kernel];
  EXPECT_EQ(trace.tracks().kind[track], TrackKind::Stream);
  EXPECT_EQ(trace.tracks().id[track], 7);
  EXPECT_EQ(trace.tracks().device_index[track], 0);
  ASSERT_EQ(trace.kernels().size(), 2u);
  EXPECT_EQ(trace.kernels().grid_x[0], 8);
  EXPECT_EQ(trace.kernels().block_x[0], 128);
  EXPECT_EQ(trace.kernels().shared_bytes[0], 80);
  ASSERT_EQ(trace.flows().size(), 2u);
  EXPECT_EQ(trace.flows().kind[0], FlowKind::CpuToGpu);
  ASSERT_EQ(trace.api_calls().size(), 2u);
  EXPECT_EQ(trace.api_calls().callback_id[0], 211);
  EXPECT_EQ(spans.kind[trace.api_calls().span[0]], SpanKind::CudaRuntime);
}

TEST(DeviceRecording, AnnotationsCoverTheirWorkOnEachStream) {
  std::int64_t start = 0;
  const Trace trace = recorded([&] {
    begin_op("step", 7);
    begin_op("inner", 7);
    call("cudaLaunchKernel", 1);
    sonde_end();
    call("cudaLaunchKernel", 2);
    sonde_end();
    start = now_ns();
    const auto launch = sized<sonde_kernel>();
    const sonde_device_span first = work("first", SONDE_SPAN_KERNEL, 1, start, 100);
    const sonde_device_span second = work("second", SONDE_SPAN_KERNEL, 2, start + 500, 100);
    sonde_kernel_ran(&first, &launch);
    sonde_kernel_ran(&second, &launch);
  });
  std::map<std::string, std::int64_t> covers;
  for (const SpanId span : trace.all_spans()) {
    if (trace.spans().kind[span] == SpanKind::GpuUserAnnotation)
      covers[std::string(trace.name(span))] = trace.spans().duration_ns[span];
  }
  // Allows a nanosecond more on both sides: each time is converted between clocks, and the rate is
  // not exact where anchors are close.
  const SpanId first = find_span(trace, "first");
  const SpanId second = find_span(trace, "second");
  const std::int64_t both = trace.end_ns(second) - trace.spans().start_ns[first];
  EXPECT_EQ(covers, (std::map<std::string, std::int64_t>{
                        {"inner", trace.spans().duration_ns[first] + 2}, {"step", both + 2}}));
}

TEST(DeviceRecording, ScopesStandForOperatorsWhereThereAreNone) {
  const Trace trace = recorded([] {
    static sonde_site site = {"mine", "f", __FILE__, __LINE__, 0};
    ASSERT_TRUE(sonde_begin(&site));
    call("cudaLaunchKernel", 9);
    sonde_end();
    const sonde_device_span kernel = work("k", SONDE_SPAN_KERNEL, 9);
    sonde_device_ran(&kernel);
  });
  const SpanTable& spans = trace.spans();
  EXPECT_NE(spans.external_id[find_span(trace, "k")], 0);
  EXPECT_EQ(spans.external_id[find_span(trace, "k")], spans.external_id[find_span(trace, "mine")]);
}

TEST(DeviceRecording, KeepsCopiesWaitsAndDevices) {
  const Trace trace = recorded([] {
    auto device = sized<sonde_device_properties>();
    device.name = name("a GPU");
    device.type = SONDE_DEVICE_CUDA;
    device.compute_major = 9;
    device.multiprocessors = 132;
    device.shared_bytes_per_multiprocessor = 233472;
    sonde_device_is(&device);
    call("cudaMemcpyAsync", 3);
    auto copy = sized<sonde_copy>();
    copy.bytes = 4096;
    copy.kind = static_cast<std::uint8_t>(CopyKind::HtoD);
    copy.source_kind = static_cast<std::uint8_t>(MemoryKind::Pageable);
    copy.destination_kind = static_cast<std::uint8_t>(MemoryKind::Device);
    const sonde_device_span copied = work("Memcpy HtoD", SONDE_SPAN_COPY, 3);
    sonde_copy_ran(&copied, &copy);
    const sonde_sync wait = {sizeof(wait), static_cast<std::uint8_t>(SyncKind::StreamWaitEvent), 5,
                             13, 2};
    const sonde_device_span waited = work("Stream Wait Event", SONDE_SPAN_SYNC, 3);
    sonde_sync_ran(&waited, &wait);
  });
  ASSERT_EQ(trace.devices().size(), 1u);
  EXPECT_EQ(trace.string(trace.devices().name[0]), "a GPU");
  EXPECT_EQ(trace.devices().shared_bytes_per_multiprocessor[0], 233472);
  ASSERT_EQ(trace.copies().size(), 1u);
  EXPECT_EQ(trace.copies().bytes[0], 4096);
  EXPECT_EQ(trace.copies().kind[0], CopyKind::HtoD);
  EXPECT_DOUBLE_EQ(trace.copies().bandwidth[0], 4.096);
  ASSERT_EQ(trace.syncs().size(), 1u);
  EXPECT_EQ(trace.syncs().wait_on_stream[0], 13);
  EXPECT_EQ(trace.syncs().wait_on_correlation[0], 2);
}

TEST(DeviceRecording, WorkOfGraphsKnowsWhoCapturedIt) {
  const Trace trace = recorded([] {
    begin_op("aten::add_");
    sonde_graph_node(100, 0);
    sonde_end();
    sonde_graph_node(200, 100);  // when the graph is instantiated
    call("cudaGraphLaunch", 5);
    auto launch = sized<sonde_kernel>();
    launch.graph_id = 3;
    launch.graph_node_id = 200;
    const sonde_device_span kernel = work("add_kernel", SONDE_SPAN_KERNEL, 5);
    sonde_kernel_ran(&kernel, &launch);
    launch.graph_node_id = 201;  // of a graph that was made earlier
    sonde_kernel_ran(&kernel, &launch);
  });
  ASSERT_EQ(trace.kernels().size(), 2u);
  EXPECT_EQ(trace.kernels().captured_by[0], find_span(trace, "aten::add_"));
  EXPECT_FALSE(trace.kernels().captured_by[1].valid());
}

TEST(DeviceRecording, MissesNoCallsWhereNoneAreRecorded) {
  const Trace trace = recorded([] {
    const sonde_device_span lean = work("kernel", SONDE_SPAN_KERNEL, 77);
    sonde_device_ran(&lean);
  });
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::Uncorrelated), 0u);
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::Note, "kernels, copies or fills"), 1u);
}

TEST(DeviceRecording, CountsWhatIsMissing) {
  const Trace trace = recorded([] {
    call("cudaLaunchKernel", 76);
    const sonde_device_span lost = work("orphan", SONDE_SPAN_KERNEL, 77);
    sonde_device_ran(&lost);
    const sonde_device_span early = work("early", SONDE_SPAN_KERNEL, 78, 1'000'000);
    sonde_device_ran(&early);
    const std::uint32_t why = name("records that CUPTI dropped");
    sonde_lost(static_cast<std::uint8_t>(LedgerKind::DroppedByBudget), why, 5);
    sonde_lost(static_cast<std::uint8_t>(LedgerKind::DroppedByBudget), why, 2);
  });
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::Uncorrelated), 1u);
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::OutOfWindow, "device work"), 1u);
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::DroppedByBudget, "records that CUPTI"), 7u);
}

TEST(DeviceRecording, TheLastCostOfAPathCounts) {
  const Trace trace = testing::record_once([] {
    sonde_path_cost("operators", 300);
    sonde_path_cost("operators", 200);
    sonde_path_cost("allocations and frees", 100);
  });
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::EventCostPs, "operators"), 200u);
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::EventCostPs, "allocations"), 100u);
}

}  // namespace
}  // namespace sonde
