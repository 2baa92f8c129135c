// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/module_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/testing/memory_trace.h"
#include "analyse/testing/op_trace.h"
#include "sonde/analyse/host_time.h"

namespace sonde {
namespace {

using testing::OpTrace;
using ::testing::SizeIs;

// Net calls a Linear twice; each launches a kernel.
Trace two_calls() {
  OpTrace t;
  t.span("nn.Module: Net_0", SpanKind::PythonFunction, t.main(), 0, 100);
  for (const int i : {0, 1}) {
    const int at = 10 + 40 * i;
    t.span("nn.Module: Linear_0", SpanKind::PythonFunction, t.main(), at, at + 30);
    t.op("aten::linear", at + 5, at + 25).id(2 + i);
    t.kernel("gemm", at + 20, at + 27).launched_by(2 + i);
  }
  return t.build();
}

TEST(ModuleTimes, ContainTheModulesInside) {
  const std::vector<ModuleTime> found = module_times(two_calls());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "Net_0");
  EXPECT_EQ(found[0].host_ns, 100'000);
  EXPECT_EQ(found[0].device_ns, 14'000);
  EXPECT_EQ(found[1].name, "Linear_0");
  EXPECT_EQ(found[1].parent, 0u);
  EXPECT_EQ(found[1].depth, 1u);
  EXPECT_EQ(found[1].calls, 2u);
  EXPECT_EQ(found[1].host_ns, 60'000);
  EXPECT_EQ(found[1].launches, 2u);
}

TEST(ModuleTimes, ComeFromOperatorsIfNoCallsWereRecorded) {
  OpTrace t;
  ModuleRow row;
  row.name = t.builder().intern("net");
  const ModuleId net = t.builder().modules().push_back(row);
  row.name = t.builder().intern("fc");
  row.parent = net;
  const ModuleId layer = t.builder().modules().push_back(row);
  const SpanId outer = t.op("aten::linear", 0, 10).span();
  const SpanId inner = t.op("aten::addmm", 2, 8).span();
  t.builder().spans().module.set(outer, layer);
  t.builder().spans().module.set(inner, layer);
  const std::vector<ModuleTime> found = module_times(t.build());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "net");
  EXPECT_EQ(found[0].host_ns, 10'000);
  EXPECT_EQ(found[1].host_ns, 10'000) << "the operator inside is not counted twice";
}

// A layer allocates twice and frees one block before it returns.
TEST(ModuleTimes, SayWhatWasAllocatedAndKept) {
  testing::MemoryTrace t;
  t.ops().span("nn.Module: Net_0", SpanKind::PythonFunction, t.ops().main(), 0, 100);
  t.ops().span("nn.Module: Linear_0", SpanKind::PythonFunction, t.ops().main(), 10, 50);
  t.op("aten::linear", 15, 45);
  t.alloc(20, 0x100, 1000);
  t.alloc(25, 0x200, 200);
  t.free(40, 0x200, 200);
  t.free(70, 0x100, 1000);
  const Trace trace = t.build();
  const MemoryProfile memory = memory_profile(trace);
  const std::vector<ModuleTime> found = module_times(trace, &memory);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].allocated_bytes, 1200);
  EXPECT_EQ(found[0].kept_bytes, 0) << "it was freed before the outer call returned";
  EXPECT_EQ(found[1].allocated_bytes, 1200);
  EXPECT_EQ(found[1].kept_bytes, 1000);
}

TEST(ModuleTimes, AreNoneWithoutModules) {
  OpTrace t;
  t.op("aten::mm", 0, 10);
  EXPECT_THAT(module_times(t.build()), SizeIs(0));
}

TEST(DeviceFlame, PutsWorkBelowWhatLaunchedIt) {
  const std::vector<FlameNode> flame = device_flame(two_calls());
  ASSERT_THAT(flame, SizeIs(5));
  EXPECT_EQ(flame[0].total_ns, 14'000);
  EXPECT_EQ(flame[4].name, "gemm");
  EXPECT_EQ(flame[4].self_ns, 14'000);
  EXPECT_EQ(flame[flame[4].parent].name, "aten::linear");
}

TEST(DeviceFlame, IsEmptyWithoutWork) {
  EXPECT_THAT(device_flame(Trace()), SizeIs(0));
}

}  // namespace
}  // namespace sonde
