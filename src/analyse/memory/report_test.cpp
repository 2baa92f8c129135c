// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/memory_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/testing/memory_trace.h"

namespace sonde {
namespace {

using testing::MemoryTrace;

std::int64_t sum(const std::vector<MemoryShare>& shares) {
  std::int64_t bytes = 0;
  for (const MemoryShare& share : shares) bytes += share.bytes;
  return bytes;
}

// Each step keeps one block of `aten::cat` and frees what `aten::mm` made. With `ends_well`, the
// rest is freed after the last step.
Trace leaking_training(int steps, bool ends_well = false) {
  MemoryTrace t;
  t.had(5000);
  for (int i = 0; i < steps; ++i) {
    const Nanos at = i * 100;
    t.step(i, at, at + 90);
    t.op("aten::mm", at + 10, at + 20).stack({"model.cpp(3): forward"});
    t.alloc(at + 11, 0x100, 1000);
    t.op("aten::cat", at + 30, at + 40).stack({"log.cpp(7): keep", "main.cpp(1): main"});
    t.alloc(at + 31, 0x1000 + std::uint64_t(i), 200);
    t.free(at + 50, 0x100, 1000);
  }
  for (int i = 0; ends_well && i < steps; ++i)
    t.free(steps * 100 + i, 0x1000 + std::uint64_t(i), 200);
  return t.build();
}

TEST(MemoryMoment, AddsUpToTheAllocatorsTotal) {
  const MemoryProfile profile = memory_profile(leaking_training(3));
  const DeviceMemory& device = profile.devices.front();
  const MemoryMoment peak = memory_moment(profile, device, device.peak.event);
  EXPECT_EQ(peak.live_bytes, 1000 + 3 * 200);
  EXPECT_EQ(peak.live_bytes + peak.unseen_bytes, peak.allocated_bytes);
  EXPECT_EQ(peak.unseen_bytes, 5000);
  EXPECT_EQ(sum(peak.by_op), peak.live_bytes);
  EXPECT_EQ(sum(peak.by_module), peak.live_bytes);
  EXPECT_EQ(sum(peak.by_stack), peak.live_bytes);
  EXPECT_EQ(peak.by_op.front().name, "aten::mm");
  EXPECT_EQ(peak.by_stack[1].name, "log.cpp(7): keep < main.cpp(1): main");
  EXPECT_EQ(peak.blocks.size(), 4U);
}

TEST(MemoryMoment, NamesModulesByTheirCalls) {
  MemoryTrace t;
  t.ops().span("nn.Module: Net_0", SpanKind::PythonFunction, t.ops().main(), 0, 60);
  t.ops().span("nn.Module: Linear_0", SpanKind::PythonFunction, t.ops().main(), 10, 50);
  t.op("aten::linear", 20, 40);
  t.alloc(30, 0x100, 1000);
  t.op("aten::add", 70, 80);
  t.alloc(75, 0x200, 10);
  const MemoryProfile profile = memory_profile(t.build());
  const DeviceMemory& device = profile.devices.front();
  const MemoryMoment peak = memory_moment(profile, device, device.peak.event);
  ASSERT_EQ(peak.by_module.size(), 2U);
  EXPECT_EQ(peak.by_module[0].name, "Net_0.Linear_0");
  EXPECT_EQ(peak.by_module[1].name, "(outside modules)");
}

TEST(MemoryMoment, BeforeTheFirstEventIsEmptyButForTheAllocator) {
  const MemoryProfile profile = memory_profile(leaking_training(1));
  const DeviceMemory& device = profile.devices.front();
  const MemoryMoment before = memory_moment(profile, device, memory_event_at(device, 0));
  EXPECT_EQ(before.live_bytes, 0);
  EXPECT_EQ(before.allocated_bytes, 5000);
}

TEST(MemoryByOp, RowsAddUpAtThePeakAndAtTheEnd) {
  const MemoryProfile profile = memory_profile(leaking_training(3));
  const DeviceMemory& device = profile.devices.front();
  std::int64_t at_peak = 0;
  std::int64_t at_end = 0;
  for (const OpMemory& op : memory_by_op(profile, device)) {
    at_peak += op.live_at_peak_bytes;
    at_end += op.live_at_end_bytes;
    if (op.name != "aten::mm") continue;
    EXPECT_EQ(op.allocations, 3U);
    EXPECT_EQ(op.allocated_bytes, 3000);
    EXPECT_EQ(op.most_live_bytes, 1000);
  }
  EXPECT_EQ(at_peak, device.peak.live_bytes);
  EXPECT_EQ(at_end, 600);
}

TEST(MemoryByStep, ShowsWhatGrows) {
  const MemoryProfile profile = memory_profile(leaking_training(3));
  const std::vector<StepMemory> steps = memory_by_step(profile, profile.devices.front());
  ASSERT_EQ(steps.size(), 3U);
  for (const StepMemory& step : steps) {
    EXPECT_EQ(step.live_at_end_bytes,
              step.live_at_start_bytes + step.allocated_bytes - step.freed_bytes);
    EXPECT_EQ(step.peak_bytes, step.live_at_start_bytes + 1200);
  }
  EXPECT_EQ(steps[0].growth_bytes, 0);
  EXPECT_EQ(steps[1].growth_bytes, 200);
  EXPECT_EQ(steps[2].growth_bytes, 200);
}

TEST(MemoryLeaks, AreWhatSeveralStepsKept) {
  const MemoryProfile profile = memory_profile(leaking_training(4));
  const std::vector<MemoryLeak> leaks = memory_leaks(profile, profile.devices.front());
  ASSERT_EQ(leaks.size(), 1U);
  EXPECT_EQ(leaks[0].op, "aten::cat");
  EXPECT_EQ(leaks[0].stack, "log.cpp(7): keep < main.cpp(1): main");
  EXPECT_EQ(leaks[0].blocks, 3U) << "the last step may still need its own";
  EXPECT_EQ(leaks[0].steps, 3U);
  EXPECT_EQ(leaks[0].bytes, 600);
}

TEST(MemoryLeaks, AreSeenAlsoInAProgramThatFreesAllAtItsEnd) {
  const MemoryProfile profile = memory_profile(leaking_training(4, true));
  const std::vector<MemoryLeak> leaks = memory_leaks(profile, profile.devices.front());
  ASSERT_EQ(leaks.size(), 1U);
  EXPECT_EQ(leaks[0].blocks, 3U);
}

TEST(MemoryLeaks, AreNoneWithoutSteps) {
  MemoryTrace t;
  t.alloc(1, 0x100, 10);
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_TRUE(memory_leaks(profile, profile.devices.front()).empty());
  EXPECT_TRUE(memory_by_step(profile, profile.devices.front()).empty());
}

TEST(MemoryMoment, IsThereForARequestThatFailed) {
  MemoryTrace t;
  t.alloc(1, 0x100, 512);
  t.out_of_memory(2, 1 << 30);
  t.free(3, 0x100, 512);
  const MemoryProfile profile = memory_profile(t.build());
  const DeviceMemory& device = profile.devices.front();
  ASSERT_EQ(device.out_of_memory.size(), 1U);
  const Nanos time_ns = profile.trace.allocations().time_ns[device.out_of_memory[0]];
  EXPECT_EQ(memory_moment(profile, device, memory_event_at(device, time_ns)).live_bytes, 512);
}

}  // namespace
}  // namespace sonde
