// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyse/testing/op_trace.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::OpTrace;

FunctionEvent find(const EventList& events, std::string_view name) {
  for (const FunctionEvent event : events) {
    if (event.name() == name) return event;
  }
  ADD_FAILURE() << "no event " << name;
  return events[0];
}

std::vector<std::string> names(const EventList& events) {
  std::vector<std::string> result;
  for (const FunctionEvent event : events) result.emplace_back(event.name());
  return result;
}

std::string parent_name(FunctionEvent event) {
  return event.has_parent() ? std::string(event.parent().name()) : std::string("-");
}

TEST(Events, OfAnEmptyTraceAreNone) {
  const EventList events = function_events(Trace());
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(*events.table(), "");
  EXPECT_EQ(*events.key_averages().table(), "");
  EXPECT_DOUBLE_EQ(events.self_cpu_time_total_us(), 0);
  EXPECT_EQ(events.total_average().count, 0u);
}

TEST(Events, StandInTheOrderOfTheirStartsTheLongerFirst) {
  OpTrace t;
  const TrackId other = t.thread(101);
  t.op("late", 50, 60);
  t.span("other", SpanKind::CpuOp, other, 5, 7);
  t.op("short", 0, 10);
  t.op("long", 0, 40);
  EXPECT_THAT(names(function_events(t.build())), ElementsAre("long", "short", "other", "late"));
}

TEST(Events, LeaveOutWhatPyTorchHides) {
  OpTrace t;
  t.op("aten::is_leaf", 0, 1);
  t.op("profiler::_record_function_exit", 2, 3);
  t.span("f.py(3): f", SpanKind::PythonFunction, t.main(), 4, 9);
  t.op("aten::add", 5, 6);
  EXPECT_THAT(names(function_events(t.build())), ElementsAre("aten::add"));
}

TEST(Events, StepsHaveOneName) {
  OpTrace t;
  t.span("ProfilerStep#3", SpanKind::Step, t.main(), 0, 10);
  t.annotation("ProfilerStep#4", 10, 20);
  const EventList events = function_events(t.build());
  EXPECT_THAT(names(events), ElementsAre("ProfilerStep*", "ProfilerStep*"));
  EXPECT_EQ(events.key_averages().size(), 1u);
}

TEST(Events, SelfTimeIsWithoutTheDirectChildren) {
  OpTrace t;
  t.op("outer", 0, 100);
  t.op("inner", 10, 60);
  t.op("innermost", 20, 30);
  const EventList events = function_events(t.build());
  EXPECT_DOUBLE_EQ(find(events, "outer").self_cpu_us(), 50);
  EXPECT_DOUBLE_EQ(find(events, "inner").self_cpu_us(), 40);
  EXPECT_EQ(parent_name(find(events, "innermost")), "inner");
  EXPECT_DOUBLE_EQ(events.self_cpu_time_total_us(), 100);
}

TEST(Events, WhatOverlapsInPartOrOnlyTouchesHasNoRelation) {
  OpTrace t;
  t.op("a", 0, 50);
  t.op("b", 40, 70);
  t.op("touches", 70, 80);
  const EventList events = function_events(t.build());
  for (const FunctionEvent event : events) EXPECT_FALSE(event.has_parent()) << event.name();
}

TEST(Events, ParentsAreOfTheSameThread) {
  OpTrace t;
  const TrackId autograd = t.thread(101);
  t.op("backward", 0, 100).sequence(4);
  t.span("MmBackward0", SpanKind::CpuOp, autograd, 10, 20).sequence(4).forward_thread(1);
  EXPECT_EQ(parent_name(find(function_events(t.build()), "MmBackward0")), "-");
}

TEST(Events, AnOnlyChildOfTheSameNameIsTheSameEvent) {
  OpTrace t;
  t.op("aten::to", 0, 100).id(1);
  t.op("aten::to", 10, 90).id(2);
  t.op("aten::copy_", 20, 80).id(3);
  t.kernel("copy", 200, 210).launched_by(2);
  const EventList events = function_events(t.build());
  EXPECT_THAT(names(events), ElementsAre("aten::to", "aten::copy_", "copy"));
  EXPECT_EQ(parent_name(find(events, "aten::copy_")), "aten::to");
  EXPECT_DOUBLE_EQ(find(events, "aten::to").self_cpu_us(), 40);
  EXPECT_DOUBLE_EQ(find(events, "aten::to").self_device_us(), 10);
}

TEST(Events, TheKernelsOfAnOnlyChildReplaceThoseOfItsParent) {
  OpTrace t;
  t.op("aten::to", 0, 100).id(1);
  t.op("aten::to", 10, 90).id(2);
  t.kernel("of the parent", 200, 230).launched_by(1);
  t.kernel("of the child", 300, 310).launched_by(2);
  const EventList events = function_events(t.build());
  ASSERT_EQ(find(events, "aten::to").kernel_count(), 1u);
  EXPECT_EQ(find(events, "aten::to").kernel(0).name(), "of the child");
  EXPECT_DOUBLE_EQ(find(events, "aten::to").self_device_us(), 10);
}

TEST(Events, ChainsOfDuplicatesShrinkToOne) {
  OpTrace t;
  t.op("a", 0, 100);
  t.op("a", 1, 90);
  t.op("a", 2, 80);
  t.op("b", 3, 4);
  EXPECT_THAT(names(function_events(t.build())), ElementsAre("a", "b"));
}

TEST(Events, ASiblingKeepsADuplicate) {
  OpTrace t;
  t.op("a", 0, 100);
  t.op("a", 1, 10);
  t.op("b", 20, 30);
  EXPECT_EQ(function_events(t.build()).size(), 3u);
}

TEST(Events, DeviceTimeOfAnOperatorIsItsKernelsAndItsChildrens) {
  OpTrace t;
  t.op("outer", 0, 100).id(1);
  t.op("inner", 10, 60).id(2);
  t.kernel("k1", 100, 130).launched_by(1);
  t.kernel("k2", 130, 200).launched_by(2);
  const EventList events = function_events(t.build());
  EXPECT_DOUBLE_EQ(find(events, "outer").device_total_us(), 100);
  EXPECT_DOUBLE_EQ(find(events, "outer").self_device_us(), 30);
  EXPECT_DOUBLE_EQ(find(events, "inner").device_total_us(), 70);
  EXPECT_DOUBLE_EQ(find(events, "k1").self_device_us(), 30);
  EXPECT_DOUBLE_EQ(find(events, "k1").cpu_total_us(), 0);
  ASSERT_EQ(find(events, "inner").kernel_count(), 1u);
  EXPECT_EQ(find(events, "inner").kernel(0).name(), "k2");
}

TEST(Events, ACallOfTheRuntimeStandsOnTheThreadOfItsOperator) {
  OpTrace t;
  const TrackId numbered_by_cupti = t.thread(9999);
  t.op("op", 0, 100).id(1);
  t.span("cudaLaunchKernel", SpanKind::CudaRuntime, numbered_by_cupti, 10, 20).id(1).correlation(7);
  EXPECT_EQ(parent_name(find(function_events(t.build()), "cudaLaunchKernel")), "op");
}

TEST(Events, ACallWithoutAnOperatorStandsOnItsOwnThread) {
  OpTrace t;
  const TrackId other = t.thread(101);
  t.op("main", 0, 100);
  t.span("other", SpanKind::CpuOp, other, 0, 100);
  t.span("cudaFree", SpanKind::CudaRuntime, other, 10, 20).correlation(7);
  EXPECT_EQ(parent_name(find(function_events(t.build()), "cudaFree")), "other");
}

TEST(Events, OnlyOperatorsClaimDeviceWork) {
  OpTrace t;
  t.op("op", 0, 10).id(7);
  t.runtime("cudaLaunchKernel", 20, 30).correlation(7);  // the same number, but another kind
  t.kernel("k", 40, 50).launched_by(7);
  const EventList events = function_events(t.build());
  EXPECT_EQ(find(events, "op").kernel_count(), 1u);
  EXPECT_EQ(find(events, "cudaLaunchKernel").kernel_count(), 0u);
}

TEST(Events, OfEveryDeviceAreDeviceTime) {
  OpTrace t;
  t.op("op", 0, 10).id(7);
  t.span("hpu", SpanKind::HpuOp, t.main(), 40, 50).launched_by(7);
  const EventList events = function_events(t.build());
  EXPECT_EQ(events.use_device(), "hpu");
  EXPECT_DOUBLE_EQ(find(events, "op").device_total_us(), 10);
  EXPECT_THAT(*events.key_averages().table(),
              ::testing::HasSubstr("Self HPU time total: 10.000us"));
}

TEST(Events, RecordedEventsWaitsAndCountersOfADeviceAreItsEvents) {
  for (const SpanKind kind :
       {SpanKind::CudaEvent, SpanKind::XpuSync, SpanKind::HardwareCounters, SpanKind::CudaSync}) {
    OpTrace t;
    t.op("op", 0, 10);
    t.span("on the device", kind, t.main(), 2, 5);
    const EventList events = function_events(t.build());
    EXPECT_NE(find(events, "on the device").device_type(), DeviceType::Cpu) << to_string(kind);
    EXPECT_DOUBLE_EQ(find(events, "on the device").self_device_us(), 3) << to_string(kind);
    EXPECT_DOUBLE_EQ(find(events, "op").self_cpu_us(), 10) << to_string(kind);
  }
}

TEST(Events, AnUnfinishedOneKeepsItsPlaceInTheTree) {
  OpTrace t;
  const SpanId open = t.op("open", 0, 100).span();
  t.builder().spans().flags.set(open, SpanFlags::kUnfinished);
  t.op("inner", 10, 20);
  const EventList events = function_events(t.build());
  EXPECT_EQ(parent_name(find(events, "inner")), "open");
  EXPECT_DOUBLE_EQ(find(events, "open").self_cpu_us(), 90);
  EXPECT_FALSE(find(events, "open").is_async());
}

TEST(Events, AsynchronousOnesTakeNoPartInTheTree) {
  OpTrace t;
  t.op("outer", 0, 100);
  t.op("work", 10, 60).async();
  t.op("below", 20, 30);
  const EventList events = function_events(t.build());
  EXPECT_DOUBLE_EQ(find(events, "work").cpu_total_us(), 50);
  EXPECT_DOUBLE_EQ(find(events, "work").self_cpu_us(), 0);
  EXPECT_EQ(parent_name(find(events, "below")), "outer");
  EXPECT_DOUBLE_EQ(find(events, "outer").self_cpu_us(), 90);
}

TEST(Events, OverheadOfProfilingStandsOnTheMainThread) {
  OpTrace t;
  const TrackId nowhere = t.thread(0);
  t.op("op", 0, 100).id(5);
  t.span("Lazy Function Loading", SpanKind::Overhead, nowhere, 10, 20);
  t.kernel("k", 200, 210).launched_by(5);
  const EventList events = function_events(t.build());
  const FunctionEvent overhead = find(events, "Lazy Function Loading");
  EXPECT_EQ(parent_name(overhead), "op");
  EXPECT_EQ(overhead.id(), 5);
  EXPECT_EQ(overhead.kernel_count(), 1u);  // as in PyTorch
}

// Calls of two threads take turns, so that parents get their first children in another order than
// they began.
TEST(Events, AreAddedUpByThreadHoweverManyThereAre) {
  OpTrace t;
  const TrackId other = t.thread(101);
  constexpr Nanos kCalls = 40'000;
  for (Nanos i = 0; i < kCalls; ++i) {
    t.op("outer", 100 * i, 100 * i + 90);
    t.span("other", SpanKind::CpuOp, other, 100 * i + 1, 100 * i + 80);
    t.span("within", SpanKind::CpuOp, other, 100 * i + 2, 100 * i + 12);
    t.op("inner", 100 * i + 20, 100 * i + 50);
  }
  const EventList events = function_events(t.build());
  ASSERT_EQ(events.size(), 4u * kCalls);
  for (std::size_t i = 0; i < events.size(); i += 4) {
    ASSERT_DOUBLE_EQ(events[i].self_cpu_us(), 60);
    ASSERT_DOUBLE_EQ(events[i + 1].self_cpu_us(), 69);
    ASSERT_EQ(parent_name(events[i + 2]), "other");
    ASSERT_EQ(parent_name(events[i + 3]), "outer");
  }
  const KeyAverages rows = events.key_averages();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].key, "outer");
  EXPECT_DOUBLE_EQ(rows[0].self_cpu_us, 60.0 * kCalls);
  EXPECT_DOUBLE_EQ(rows[1].self_cpu_us, 69.0 * kCalls);
}

TEST(EventMemory, GoesToEveryEventThatContainsIt) {
  OpTrace t;
  const TrackId other = t.thread(101);
  t.op("outer", 0, 100);
  t.op("inner", 10, 60);
  t.span("elsewhere", SpanKind::CpuOp, other, 15, 17);
  t.memory(16, 512);
  t.memory(70, -100);
  t.memory(16, 4096, DeviceType::Cuda);
  const EventList events = function_events(t.build());
  EXPECT_EQ(find(events, "outer").cpu_memory_bytes(), 412);
  EXPECT_EQ(find(events, "outer").self_cpu_memory_bytes(), -100);
  EXPECT_EQ(find(events, "inner").cpu_memory_bytes(), 512);
  EXPECT_EQ(find(events, "inner").device_memory_bytes(), 4096);
  EXPECT_EQ(find(events, "elsewhere").cpu_memory_bytes(), 512);  // regardless of thread
}

TEST(EventMemory, CountsAtBothEnds) {
  OpTrace t;
  t.op("op", 10, 20);
  t.memory(10, 1);
  t.memory(20, 2);
  t.memory(21, 4);
  const EventList events = function_events(t.build());
  EXPECT_EQ(find(events, "op").cpu_memory_bytes(), 3);
  EXPECT_EQ(find(events, "[memory]").cpu_memory_bytes(), 4);
}

TEST(EventMemory, WhatCouldNotBeHadIsAnEventAndCountsAsNothing) {
  OpTrace t;
  t.op("op", 10, 20);
  t.memory(12, 100);
  t.out_of_memory(15, 1'000'000);
  const EventList events = function_events(t.build());
  EXPECT_THAT(names(events), ElementsAre("op", "[OutOfMemory]"));
  EXPECT_EQ(find(events, "op").self_cpu_memory_bytes(), 100);
  EXPECT_EQ(find(events, "[OutOfMemory]").cpu_memory_bytes(), 0);
}

TEST(EventMemory, RecordsThatNoEventContainsAreEvents) {
  OpTrace t;
  t.memory(5, 7);
  t.op("op", 10, 20);
  t.memory(30, -7, DeviceType::Cuda);
  const EventList events = function_events(t.build());
  EXPECT_THAT(names(events), ElementsAre("[memory]", "op", "[memory]"));
  EXPECT_EQ(events[2].device_memory_bytes(), -7);
  EXPECT_DOUBLE_EQ(events[2].cpu_total_us(), 0);
  EXPECT_FALSE(events[2].span().valid());
}

TEST(EventMemory, RecordsBetweenEventsStandAtTheirTimesInAnyOrderOfRows) {
  OpTrace t;
  t.op("first", 0, 10);
  t.op("second", 20, 30);
  t.memory(15, 1);
  t.memory(5, 2);
  t.memory(25, 4);
  t.memory(40, 8);
  t.memory(15, 16);
  const EventList events = function_events(t.build());
  EXPECT_THAT(names(events), ElementsAre("first", "[memory]", "[memory]", "second", "[memory]"));
  EXPECT_EQ(events[0].cpu_memory_bytes(), 2);
  EXPECT_EQ(events[1].cpu_memory_bytes(), 1);
  EXPECT_EQ(events[2].cpu_memory_bytes(), 16);
  EXPECT_EQ(events[3].cpu_memory_bytes(), 4);
  EXPECT_EQ(events[4].cpu_memory_bytes(), 8);
}

TEST(EventThreads, AreNumberedByWhatGradientsSay) {
  OpTrace t;
  const TrackId autograd = t.thread(101);
  const SpanId forward = t.op("aten::mm", 0, 10).sequence(4).span();
  const SpanId backward =
      t.span("MmBackward0", SpanKind::CpuOp, autograd, 20, 30).sequence(4).forward_thread(3).span();
  t.builder().flows().push_back(
      {.kind = FlowKind::ForwardBackward, .from_span = forward, .to_span = backward});
  const EventList events = function_events(t.build());
  EXPECT_EQ(find(events, "aten::mm").thread(), 3);
  EXPECT_EQ(find(events, "MmBackward0").thread(), 1);  // the first free number
  EXPECT_EQ(find(events, "MmBackward0").forward_thread(), 3);
}

TEST(EventStacks, OfAGradientAreThoseOfItsOperator) {
  OpTrace t;
  const TrackId autograd = t.thread(101);
  const SpanId forward = t.op("aten::mm", 0, 10).sequence(4).stack({"inner", "main"}).span();
  const SpanId backward = t.span("MmBackward0", SpanKind::CpuOp, autograd, 20, 90)
                              .sequence(4)
                              .forward_thread(1)
                              .scope(RecordScope::BackwardFunction)
                              .span();
  t.builder().flows().push_back(
      {.kind = FlowKind::ForwardBackward, .from_span = forward, .to_span = backward});
  t.span("aten::mm", SpanKind::CpuOp, autograd, 30, 50).stack({"engine"});
  const EventList events = function_events(t.build());
  EXPECT_THAT(find(events, "aten::mm").stack(), ElementsAre("inner", "main"));
  EXPECT_THAT(find(events, "MmBackward0").stack(), ElementsAre("inner", "main"));
  EXPECT_THAT(events[2].stack(), ElementsAre("inner", "main"));
  EXPECT_EQ(events.collapsed_stacks(StackMetric::SelfCpuTime), "main;inner 80\n");
  EXPECT_EQ(events.collapsed_stacks(StackMetric::SelfCpuTime, StackLines::EachEvent),
            "main;inner 10\nmain;inner 50\nmain;inner 20\n");
}

TEST(EventStacks, AGradientWithoutItsOperatorHasNone) {
  OpTrace t;
  t.op("MmBackward0", 20, 90)
      .sequence(4)
      .forward_thread(1)
      .scope(RecordScope::BackwardFunction)
      .stack({"engine"});
  const EventList events = function_events(t.build());
  EXPECT_THAT(events[0].stack(), IsEmpty());
}

TEST(EventStacks, BeginBelowTheTensorLibraryUnlessItsFramesWereAskedFor) {
  for (const bool asked : {false, true}) {
    OpTrace t;
    if (asked) t.flag("with_native_stack");
    t.op("aten::mm", 0, 10).stack({"at::_ops::mm::call()", "at::mm()", "train.py(7): step"});
    const EventList events = function_events(t.build());
    const std::vector<std::string> stack = events[0].stack();
    EXPECT_EQ(stack.size(), asked ? 3u : 1u);
    EXPECT_EQ(stack.back(), "train.py(7): step");
  }
}

TEST(EventStacks, AreFoundFromThePythonCallsAroundAnOperator) {
  OpTrace t;
  t.span("train.py(9): main", SpanKind::PythonFunction, t.main(), 0, 100);
  t.span("nn.Module: Net_0", SpanKind::PythonFunction, t.main(), 10, 90);
  t.op("aten::relu", 20, 30);
  const EventList events = function_events(t.build());
  EXPECT_THAT(events[0].stack(), ElementsAre("nn.Module: Net_0", "train.py(9): main"));
  EXPECT_EQ(events.collapsed_stacks(StackMetric::SelfCpuTime),
            "train.py(9):_main;nn.Module:_Net_0 10\n");
}

TEST(EventStacks, HideThePlumbingOfBackward) {
  OpTrace t;
  t.op("op", 0, 10)
      .stack({"f", "torch/autograd/__init__.py(92): _make_grads",
              "torch/autograd/__init__.py(280): backward", "main"});
  const EventList events = function_events(t.build());
  EXPECT_THAT(events[0].stack(), ElementsAre("f", "main"));
}

TEST(EventStacks, LessThanAMicrosecondIsNoLine) {
  OpTrace t;
  const SpanId span = t.op("op", 0, 1).stack({"f"}).span();
  t.builder().spans().duration_ns.set(span, 999);
  EXPECT_EQ(function_events(t.build()).collapsed_stacks(StackMetric::SelfCpuTime), "");
}

TEST(EventStacks, KnowTheMetricsByTheirNames) {
  EXPECT_EQ(*parse_stack_metric("self_cuda_time_total"), StackMetric::SelfDeviceTime);
  EXPECT_EQ(*parse_stack_metric("self_cpu_time_total"), StackMetric::SelfCpuTime);
  EXPECT_FALSE(parse_stack_metric("cpu_time"));
}

TEST(EventScopes, AGradientIsToldFromTheCallAroundIt) {
  OpTrace t;
  t.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 0, 10);
  t.op("torch::autograd::AccumulateGrad", 1, 9);
  t.annotation("mine", 20, 30);
  const EventList events = function_events(t.build());
  EXPECT_EQ(events[0].scope(), RecordScope::Function);
  EXPECT_EQ(events[1].scope(), RecordScope::BackwardFunction);
  EXPECT_EQ(events[2].scope(), RecordScope::UserScope);
}

TEST(EventText, IsWhatPythonPrints) {
  OpTrace t;
  t.annotation("train_step", 0, 1000).id(1);
  t.op("aten::mm", 100, 400).id(2).tensor({10, 20}).tensor({20, 30});
  t.op("aten::empty", 110, 140).id(3).scalar("[10, 30]", ArgumentKind::ScalarList);
  t.op("aten::add", 450, 950).id(4).tensor({300}).tensor({300});
  t.memory(200, 1536);
  const EventList events = function_events(t.build());
  EXPECT_EQ(
      to_string(find(events, "aten::mm"), events.use_device()),
      "<FunctionEvent id=2 name=aten::mm overload_name= device_type=DeviceType.CPU node_id=-1 "
      "cpu_time=300.000us start_us=100 end_us=400 cpu_children=[3] None_time=0.000us "
      "name=aten::mm thread=1 input_shapes=[[10, 20], [20, 30]] cpu_memory_usage=1536 "
      "None_memory_usage=0 is_async=False is_remote=False seq_nr=-1 is_legacy=False>");
  EXPECT_EQ(to_string(events.total_average()),
            "<FunctionEventAvg key=Total self_cpu_time=1.000ms cpu_time=457.500us  "
            "self_cuda_time=0.000us cuda_time=0.000us input_shapes= cpu_memory_usage=3072 "
            "cuda_memory_usage=0>");
}

}  // namespace
}  // namespace sonde
