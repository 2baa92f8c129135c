// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/launches.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sonde/trace/builder.h"

namespace sonde {
namespace {

// Processes with a thread and a stream each.
class LaunchTrace {
 public:
  LaunchTrace() { add_process(); }
  std::size_t add_process() {
    const ProcessId process = builder_.processes().push_back({});
    threads_.push_back(builder_.tracks().push_back({.process = process}));
    streams_.push_back(
        builder_.tracks().push_back({.process = process, .kind = TrackKind::Stream}));
    return threads_.size() - 1;
  }
  void call(std::string_view name, Nanos start, Nanos end, std::int64_t number,
            std::size_t process = 0, SpanKind kind = SpanKind::CudaDriver) {
    add(name, kind, threads_[process], start, end, number, 0);
  }
  void op(std::string_view name, Nanos start, Nanos end, std::int64_t external_id) {
    add(name, SpanKind::CpuOp, threads_[0], start, end, 0, external_id);
  }
  void work(std::string_view name, std::int64_t number, std::int64_t external_id = 0,
            std::size_t process = 0, SpanKind kind = SpanKind::Kernel) {
    add(name, kind, streams_[process], 1000, 1010, number, external_id);
  }
  void build() { trace_ = std::move(builder_).build().value(); }
  const Trace& trace() const { return trace_; }
  // Where the launch of the work with that name begins; -1 if it has none.
  Nanos launched_at(std::string_view work) const {
    for (const SpanId span : trace_.all_spans()) {
      if (trace_.name(span) != work) continue;
      const SpanId launch = trace_.spans().launch[span];
      return launch.valid() ? trace_.spans().start_ns[launch] : -1;
    }
    return -2;
  }

 private:
  void add(std::string_view name, SpanKind kind, TrackId track, Nanos start, Nanos end,
           std::int64_t number, std::int64_t external_id) {
    SpanRow row;
    row.name = builder_.intern(name);
    row.kind = kind;
    row.track = track;
    row.start_ns = start;
    row.duration_ns = end - start;
    row.correlation = number;
    row.external_id = external_id;
    builder_.spans().push_back(row);
  }

  TraceBuilder builder_;
  Trace trace_;
  std::vector<TrackId> threads_;
  std::vector<TrackId> streams_;
};

TEST(Launches, OfAKernelLoadedLateIsTheLaunchAndNotTheLoading) {
  LaunchTrace t;
  t.call("cuLibraryLoadData", 10, 500, 7);
  t.call("cuLibraryGetKernel", 500, 510, 7);
  t.call("cuLaunchKernel", 520, 530, 7);
  t.work("kernel", 7);
  t.build();
  EXPECT_EQ(t.launched_at("kernel"), 520);
}

TEST(Launches, OfCallsWithinOneAnotherIsTheOuter) {
  LaunchTrace t;
  t.call("cudaLaunchKernel", 10, 100, 7, 0, SpanKind::CudaRuntime);
  t.call("cuModuleLoadData", 20, 60, 7);
  t.call("cuLaunchKernel", 70, 80, 7);
  t.work("kernel", 7);
  t.build();
  EXPECT_EQ(t.launched_at("kernel"), 10);
}

TEST(Launches, AreLookedForInTheProcessOfTheWork) {
  LaunchTrace t;
  const std::size_t other = t.add_process();
  t.call("cuLaunchKernel", 10, 20, 7);
  t.call("cuLaunchKernel", 30, 40, 7, other);
  t.work("of the first", 7);
  t.work("of the other", 7, 0, other);
  t.build();
  EXPECT_EQ(t.launched_at("of the first"), 10);
  EXPECT_EQ(t.launched_at("of the other"), 30);
}

TEST(Launches, WithoutACallAreTheOutermostOperator) {
  LaunchTrace t;
  t.op("outer", 10, 100, 3);
  t.op("inner", 20, 90, 3);
  t.work("kernel", 7, 3);
  t.work("of nobody", 0, 4);
  t.work("of nothing", 0);
  t.build();
  EXPECT_EQ(t.launched_at("kernel"), 10);
  EXPECT_EQ(t.launched_at("of nobody"), -1);
  EXPECT_EQ(t.launched_at("of nothing"), -1);
}

TEST(Launches, AreKnownOfEveryDevice) {
  for (const SpanKind kind : {SpanKind::GpuMemcpy, SpanKind::MtiaCcpEvents, SpanKind::MtiaWorkload,
                              SpanKind::HpuOp, SpanKind::CudaSync, SpanKind::XpuSync}) {
    LaunchTrace t;
    t.call("call", 10, 20, 7, 0, SpanKind::PrivateUse1Runtime);
    t.work("work", 7, 0, 0, kind);
    t.build();
    EXPECT_EQ(t.launched_at("work"), 10) << to_string(kind);
  }
}

TEST(Launches, CostNothingInATraceWithoutThem) {
  LaunchTrace t;
  t.op("op", 10, 100, 3);
  t.call("cuLaunchKernel", 10, 20, 7);
  t.work("kernel", 8);
  t.build();
  EXPECT_EQ(t.trace().spans().launch.memory_bytes(), 0U);
}

TEST(Launches, ReplaceWhatABuilderWasGiven) {
  TraceBuilder builder;
  builder.spans().push_back({.launch = SpanId(0)});
  const Trace trace = std::move(builder).build().value();
  EXPECT_FALSE(trace.spans().launch[SpanId(0)].valid());
}

TEST(SpanKinds, OfWorkRunOnADeviceAndCallsOnTheHost) {
  for (int number = 0; number < 256; ++number) {
    const auto kind = static_cast<SpanKind>(number);
    if (!is_known(kind)) continue;
    EXPECT_TRUE(!is_device_work(kind) || is_on_device(kind)) << to_string(kind);
    EXPECT_TRUE(!is_call(kind) || !is_on_device(kind)) << to_string(kind);
    EXPECT_EQ(is_on_device(kind), device_of(kind) != DeviceType::Cpu) << to_string(kind);
    EXPECT_TRUE(!is_pytorch_operator(kind) || is_pytorch_event(kind)) << to_string(kind);
  }
}

}  // namespace
}  // namespace sonde
