// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/device_time.h"

#include <gtest/gtest.h>

#include <numeric>

#include "analyse/testing/op_trace.h"
#include "analyse/time/coverage.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using testing::OpTrace;
using testing::sketch;

// A launch and its kernel, in microseconds.
void launch(OpTrace& t, std::int64_t number, Nanos call_us, Nanos begin_us, Nanos end_us,
            std::string_view kernel = "k") {
  t.runtime("cudaLaunchKernel", call_us, call_us + 2).correlation(number);
  t.kernel(kernel, begin_us, end_us).correlation(number);
}

DeviceTime only(const Trace& trace) {
  const std::vector<DeviceTime> devices = device_times(trace);
  return devices.size() == 1 ? devices.front() : DeviceTime();
}

TEST(Coverage, CountsOverlapsOnceAndWithinARange) {
  detail::Coverage c;
  c.add(10, 20);
  c.add(15, 30);
  c.add(40, 50);
  EXPECT_EQ(c.total_ns(), 30);
  EXPECT_EQ(c.within_ns(12, 45), 23);
  EXPECT_EQ(c.within_ns(0, 5), 0);
  EXPECT_EQ(c.within_ns(30, 40), 0);
}

TEST(Coverage, KnowsHowLongTwoCover) {
  detail::Coverage a;
  a.add(0, 10);
  a.add(20, 30);
  detail::Coverage b;
  b.add(5, 25);
  EXPECT_EQ(overlap_ns(a, b), 10);
  EXPECT_EQ(overlap_ns(b, a), 10);
}

TEST(Coverage, HasItsMomentsInWhateverOrderItIsAsked) {
  detail::Coverage c;
  c.add(10, 20);
  c.add(40, 50);
  detail::CoverageCursor cursor(c);
  for (const Nanos time_ns : {5, 10, 11, 19, 20, 30, 39, 40, 49, 50, 60, 15, 9, 45, 25, 0})
    EXPECT_EQ(cursor.has(time_ns), c.has(time_ns)) << time_ns;
  EXPECT_TRUE(c.has(10));
  EXPECT_FALSE(c.has(20));
  detail::Coverage none;
  EXPECT_FALSE(detail::CoverageCursor(none).has(1));
}

TEST(DeviceTime, CountsOverlappingStreamsOnce) {
  const DeviceTime device = only(sketch(R"(
      gpu0/stream7   aaaa....bb
      gpu0/stream13  ..cccc....
  )"));
  EXPECT_EQ(device.busy_ns, 8'000);
  EXPECT_EQ(device.idle_ns, 2'000);
  EXPECT_EQ(device.extent_ns(), 10'000);
}

TEST(DeviceTime, KeepsDevicesAndProcessesApart) {
  EXPECT_EQ(device_times(sketch(R"(
      rank0/gpu0/stream7   aa
      rank0/gpu1/stream7   ..aa
      rank1/gpu0/stream7   ....aa
  )"))
                .size(),
            3U);
}

TEST(DeviceTime, OfATraceWithoutDevicesIsEmpty) {
  EXPECT_TRUE(device_times(sketch("main aabb")).empty());
  EXPECT_TRUE(device_times(Trace()).empty());
}

TEST(DeviceTime, CountsTheWorkOfEveryDevice) {
  for (const SpanKind kind : {SpanKind::MtiaCcpEvents, SpanKind::MtiaWorkload, SpanKind::HpuOp}) {
    OpTrace t;
    t.span("runFunction", SpanKind::MtiaRuntime, t.main(), 0, 2).correlation(1);
    t.on_stream("job_exe", kind, 10, 40).correlation(1);
    t.on_stream("pe_exe", kind, 20, 30);
    const DeviceTime device = only(t.build());
    EXPECT_EQ(device.busy_ns, 30'000) << to_string(kind);
    EXPECT_EQ(device.other.count, 2U) << to_string(kind);
    EXPECT_EQ(device.other.union_ns, 30'000) << to_string(kind);
    EXPECT_EQ(device.compute.count + device.memory.count, 0U) << to_string(kind);
  }
}

TEST(DeviceTime, AWaitThatADeviceListsAmongItsWorkIsNotBusy) {
  OpTrace t;
  t.on_stream("pe_exe", SpanKind::MtiaCcpEvents, 10, 20);
  t.on_stream("event_wait", SpanKind::MtiaCcpEvents, 15, 80);
  t.on_stream("pe_exe", SpanKind::MtiaCcpEvents, 80, 90);
  const DeviceTime device = only(t.build());
  EXPECT_EQ(device.busy_ns, 20'000);
  EXPECT_EQ(device.idle_ns, 60'000);
}

// CUDA loads a kernel at its first launch. Its calls to the driver then have the launch's number.
TEST(DeviceTime, AGapInWhichAKernelWasLoadedIsTheHosts) {
  OpTrace t;
  t.span("cuLaunchKernel", SpanKind::CudaDriver, t.main(), 0, 2).correlation(1);
  t.kernel("first", 10, 100).correlation(1);
  t.span("cuLibraryLoadData", SpanKind::CudaDriver, t.main(), 50, 4900).correlation(2);
  t.span("cuLaunchKernel", SpanKind::CudaDriver, t.main(), 4910, 4920).correlation(2);
  t.kernel("second", 5000, 5100).correlation(2);
  const DeviceTime device = only(t.build());
  EXPECT_EQ(device.idle_of(IdleCause::HostWait), 4'900'000);
  EXPECT_EQ(device.idle_of(IdleCause::Other), 0);
}

TEST(DeviceTime, NamesHtasThreeCauses) {
  OpTrace t;
  launch(t, 1, 0, 10, 100);
  launch(t, 2, 20, 105, 200);   // in time, 5 us later
  launch(t, 3, 30, 260, 300);   // in time, 60 us later
  launch(t, 4, 340, 350, 400);  // only when the device was idle
  const DeviceTime device = only(t.build());
  EXPECT_EQ(device.idle_of(IdleCause::KernelWait), 5'000);
  EXPECT_EQ(device.idle_of(IdleCause::Other), 60'000);
  EXPECT_EQ(device.idle_of(IdleCause::HostWait), 50'000);
  EXPECT_EQ(device.busy_ns + device.idle_ns, device.extent_ns());
}

TEST(DeviceTime, CallsItOtherWhereTheLaunchIsNotKnown) {
  EXPECT_EQ(only(sketch("gpu0/stream7 aa..bb")).idle_of(IdleCause::Other), 2'000);
}

TEST(DeviceTime, SaysThatTheHostHadWaited) {
  OpTrace t;
  launch(t, 1, 0, 10, 100);
  t.runtime("cudaStreamSynchronize", 20, 103);
  launch(t, 2, 140, 150, 200);
  const DeviceTime device = only(t.build());
  EXPECT_EQ(device.host_wait_of(HostDoing::HadWaited), 3'000);
  EXPECT_EQ(device.host_wait_of(HostDoing::OutsideOperators), 37'000);
  EXPECT_EQ(device.host_wait_of(HostDoing::InOperators), 10'000);  // to launch
  ASSERT_EQ(device.gaps.size(), 1U);
  EXPECT_TRUE(device.gaps.front().wait.valid());
}

TEST(DeviceTime, TakesACopyThatComesBackLateForAWait) {
  OpTrace t;
  t.runtime("cudaMemcpyAsync", 0, 104).correlation(1);
  const auto copy = t.span("Memcpy DtoH", SpanKind::GpuMemcpy, TrackId(1), 10, 100).correlation(1);
  t.builder().copies().push_back({.span = copy.span(), .bytes = 4096, .kind = CopyKind::DtoH});
  launch(t, 2, 140, 150, 200);
  EXPECT_EQ(only(t.build()).host_wait_of(HostDoing::HadWaited), 4'000);
}

TEST(DeviceTime, TellsOperatorsFromTheProgramsOwnCode) {
  OpTrace t;
  launch(t, 1, 0, 10, 100);
  t.op("aten::add", 90, 145);
  launch(t, 2, 140, 150, 200);  // within the operator
  launch(t, 3, 290, 300, 310);  // after 90 us of nothing
  const DeviceTime device = only(t.build());
  EXPECT_EQ(device.host_wait_of(HostDoing::InOperators), 50'000 + 10'000);
  EXPECT_EQ(device.host_wait_of(HostDoing::OutsideOperators), 90'000);
}

TEST(DeviceTime, SaysThatTheHostCommunicated) {
  OpTrace t;
  launch(t, 1, 0, 10, 100);
  t.span("gloo:all_reduce", SpanKind::UserAnnotation, t.thread(7), 90, 280);
  launch(t, 2, 290, 300, 310);
  EXPECT_EQ(only(t.build()).host_wait_of(HostDoing::Communicated), 200'000);
}

TEST(DeviceTime, KnowsWhatCommunicationIsHidden) {
  OpTrace t;
  launch(t, 1, 0, 10, 100);
  const TrackId other = t.builder().tracks().push_back(
      {.process = ProcessId(0), .kind = TrackKind::Stream, .id = 9, .device_index = 0});
  t.span("ncclDevKernel_AllReduce", SpanKind::Kernel, other, 70, 130);
  const DeviceTime device = only(t.build());
  EXPECT_EQ(device.compute.union_ns, 90'000);
  EXPECT_EQ(device.communication.union_ns, 60'000);
  EXPECT_EQ(device.communication_hidden_ns, 30'000);
  EXPECT_EQ(device.busy_ns, 120'000);
}

TEST(DeviceTime, CausesAndGapsAddUpToTheIdleTime) {
  OpTrace t;
  Nanos at_us = 0;
  for (std::int64_t i = 1; i < 200; ++i) {
    const Nanos gap_us = i * 37 % 91;
    const Nanos begin_us = at_us + gap_us;
    launch(t, i, begin_us - i * 13 % 60, begin_us, begin_us + 1 + i % 7);
    at_us = begin_us + 1 + i % 7;
  }
  const DeviceTime device = only(t.build());
  Nanos gaps_ns = 0;
  for (const DeviceGap& gap : device.gaps) gaps_ns += gap.length_ns();
  const auto sum = [](const auto& parts) {
    return std::accumulate(parts.begin(), parts.end(), Nanos{0});
  };
  EXPECT_EQ(gaps_ns, device.idle_ns);
  EXPECT_EQ(sum(device.idle_by_cause), device.idle_ns);
  EXPECT_EQ(sum(device.host_wait_by_doing), device.idle_of(IdleCause::HostWait));
  EXPECT_EQ(device.busy_ns + device.idle_ns, device.extent_ns());
  EXPECT_GT(device.idle_of(IdleCause::HostWait), 0);
}

}  // namespace
}  // namespace sonde
