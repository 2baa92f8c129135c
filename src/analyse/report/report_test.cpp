// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "analyse/report/op_runs.h"
#include "analyse/testing/op_trace.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OpTrace;
using ::testing::SizeIs;

std::vector<std::string> ids(const Report& found) {
  std::vector<std::string> out;
  for (const Finding& finding : found.findings) out.push_back(finding.id);
  return out;
}
std::string first_id(const Trace& trace) {
  const Report found = report(trace);
  return found.findings.empty() ? "" : found.findings.front().id;
}

void launch(OpTrace& t, std::int64_t number, Nanos call_us, Nanos begin_us, Nanos end_us) {
  t.runtime("cudaLaunchKernel", call_us, call_us + 2).correlation(number);
  t.kernel("k", begin_us, end_us).correlation(number);
}

void copy(OpTrace& t, std::int64_t number, CopyKind kind, MemoryKind host, Nanos begin_us,
          Nanos end_us, std::int64_t bytes, Nanos call_us = -1) {
  if (call_us < 0) call_us = begin_us - 5;
  t.runtime("cudaMemcpyAsync", call_us, call_us + 1).correlation(number);
  const auto span =
      t.span("Memcpy", SpanKind::GpuMemcpy, TrackId(1), begin_us, end_us).correlation(number);
  const bool to_device = kind == CopyKind::HtoD;
  t.builder().copies().push_back({.span = span.span(),
                                  .bytes = bytes,
                                  .kind = kind,
                                  .source_kind = to_device ? host : MemoryKind::Device,
                                  .destination_kind = to_device ? MemoryKind::Device : host});
}

TEST(Report, OfNothingSaysSo) {
  const Report found = report(Trace());
  EXPECT_EQ(found.verdict, "Nothing was recorded.");
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_TRUE(found.is_whole());
}

TEST(Report, OfABusyDeviceHasNothingToSay) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) launch(t, i + 1, 10 * i, 100 * i + 100, 100 * i + 200);
  const Report found = report(t.build());
  EXPECT_THAT(found.verdict, HasSubstr("limits the program"));
  EXPECT_THAT(ids(found), IsEmpty());
}

TEST(Report, StaysWithinItsRangeWhateverTimesATraceHas) {
  constexpr Nanos kMost = std::numeric_limits<Nanos>::max();
  TraceBuilder builder;
  const TrackId thread = builder.tracks().push_back({.process = builder.processes().push_back({})});
  const TrackId stream = builder.tracks().push_back(
      {.process = ProcessId(0), .kind = TrackKind::Stream, .device_index = 0});
  for (const SpanKind kind :
       {SpanKind::Step, SpanKind::CpuOp, SpanKind::Kernel, SpanKind::GpuMemcpy})
    for (const Nanos start_ns : {-kMost, Nanos{-5}, Nanos{0}, kMost})
      builder.spans().push_back({.start_ns = start_ns,
                                 .duration_ns = kMost,
                                 .name = builder.intern("aten::select"),
                                 .track = kind == SpanKind::Kernel ? stream : thread,
                                 .kind = kind});
  for (std::uint32_t row = 0; row < 16; ++row)
    builder.copies().push_back({.span = SpanId(row), .bytes = kMost, .kind = CopyKind::HtoD});
  builder.add_ledger(LedgerKind::EventCostPs, ~std::uint64_t{0});
  builder.add_ledger(LedgerKind::EventsWritten, ~std::uint64_t{0});
  const Result<Trace> trace = std::move(builder).build();
  ASSERT_TRUE(trace);
  const Report found = report(*trace);
  for (const DeviceTime& device : found.devices)
    EXPECT_EQ(device.busy_ns + device.idle_ns, device.extent_ns());
  for (const Finding& finding : found.findings) EXPECT_LE(finding.saving_ns, found.measured_ns);
}

TEST(Report, SaysThatATraceIsNotWhole) {
  OpTrace t;
  t.builder().add_ledger(LedgerKind::DroppedByBudget, 3);
  EXPECT_FALSE(report(t.build()).is_whole());
}

TEST(Report, FindsSynchronisationsThatStall) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {  // 50 us of the host's, which could run while the device does
    launch(t, i + 1, 450 * i, 450 * i + 10, 450 * i + 400);
    t.op("aten::item", 450 * i + 20, 450 * i + 405);
    t.runtime("cudaStreamSynchronize", 450 * i + 30, 450 * i + 402);
    t.op("aten::add", 450 * i + 406, 450 * i + 449);
  }
  const Report found = report(t.build());
  ASSERT_FALSE(found.findings.empty());
  const Finding& first = found.findings.front();
  EXPECT_EQ(first.id, "stalling_synchronisation");
  EXPECT_EQ(first.at_most_ns, 9 * 60'000);
  EXPECT_LE(first.saving_ns, first.at_most_ns);
  EXPECT_GT(first.saving_ns, 9 * 40'000);
  EXPECT_EQ(first.count, 9U);
  ASSERT_EQ(first.groups.size(), 1U);
  EXPECT_EQ(first.groups[0].name, "aten::item");
  EXPECT_EQ(first.groups[0].count, 9U);
  EXPECT_EQ(first.moments.front().end_ns - first.moments.front().begin_ns, 60'000);
}

TEST(Report, BlamesWhatTheHostDidAfterAShortWait) {
  OpTrace t;
  for (int i = 0; i < 5; ++i) {
    const Nanos begin_us = 21'000 * i;
    launch(t, i + 1, begin_us, begin_us + 5, begin_us + 900);
    t.runtime("cudaDeviceSynchronize", begin_us + 880, begin_us + 930);
    t.python("train.py(12): tokenise", begin_us + 940, begin_us + 20'990);
  }
  const Report found = report(t.build());
  ASSERT_FALSE(found.findings.empty());
  const Finding& first = found.findings.front();
  EXPECT_EQ(first.id, "host_bound");
  EXPECT_EQ(first.groups.front().name, "train.py(12): tokenise");
  EXPECT_GT(first.saving_ns, 4 * 20'000'000);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].host_wait_of(HostDoing::HadWaited), 4 * 30'000);
}

TEST(Report, ComparesSavingsWithThePartTheyAreIn) {
  OpTrace t;  // a long pause before the first step is not a gap of the steps
  launch(t, 100, 0, 5, 100);
  for (int i = 0; i < 5; ++i) {
    const Nanos begin_us = 100'000 + 1000 * i;
    const auto step = t.span("ProfilerStep#" + std::to_string(i), SpanKind::Step, t.main(),
                             begin_us, begin_us + 1000);
    t.builder().spans().step.set(step.span(), i);
    launch(t, i + 1, begin_us + 400, begin_us + 405, begin_us + 1000);
  }
  const Report found = report(t.build());
  EXPECT_EQ(found.measured_ns, 5'000'000);
  EXPECT_EQ(found.step_rule, StepRule::Recorded);
  EXPECT_GT(found.start_ns, 99'000'000);
  Nanos at_most_ns = 0;
  for (const Finding& finding : found.findings) at_most_ns += finding.at_most_ns;
  EXPECT_LE(at_most_ns, found.measured_ns);
}

TEST(Report, FindsKernelsThatAreTooSmall) {
  OpTrace t;
  for (int i = 0; i < 50; ++i) {
    t.op("aten::add", 20 * i, 20 * i + 19);
    launch(t, i + 1, 20 * i + 15, 20 * i + 18, 20 * i + 22);
  }
  const Report found = report(t.build());
  EXPECT_EQ(ids(found).front(), "launch_bound");
  EXPECT_THAT(found.findings.front().detail, HasSubstr("kernels take less than"));
}

TEST(Report, FindsAHostThatDoesSomethingElse) {
  OpTrace t;
  for (int i = 0; i < 5; ++i) launch(t, i + 1, 1000 * i, 1000 * i + 5, 1000 * i + 100);
  EXPECT_EQ(first_id(t.build()), "host_bound");
}

TEST(Report, FindsCopiesOfPageableMemory) {
  OpTrace t;
  for (int i = 0; i < 5; ++i) {  // the host waits, and then works as long again
    const Nanos begin_us = 1000 * i;
    t.runtime("cudaMemcpyAsync", begin_us, begin_us + 505).correlation(2 * i + 1);
    const auto span =
        t.span("Memcpy", SpanKind::GpuMemcpy, TrackId(1), begin_us + 10, begin_us + 500)
            .correlation(2 * i + 1);
    t.builder().copies().push_back({.span = span.span(),
                                    .bytes = 1 << 20,
                                    .kind = CopyKind::HtoD,
                                    .source_kind = MemoryKind::Pageable,
                                    .destination_kind = MemoryKind::Device});
    t.op("aten::add", begin_us + 505, begin_us + 995);
    launch(t, 2 * i + 2, begin_us + 990, begin_us + 993, begin_us + 999);
  }
  const Report found = report(t.build());
  ASSERT_THAT(ids(found), Contains("pageable_copies"));
  const Finding& first = found.findings.front();
  EXPECT_EQ(first.at_most_ns, 5 * 495'000);
  EXPECT_GT(first.saving_ns, 4 * 400'000);
}

TEST(Report, FindsNothingInCopiesThatArePinnedAndHidden) {
  OpTrace t;
  launch(t, 1, 0, 10, 600);
  copy(t, 2, CopyKind::HtoD, MemoryKind::Pinned, 20, 500, 1 << 20);
  EXPECT_THAT(ids(report(t.build())), IsEmpty());
}

TEST(Report, FindsBytesThatComeBack) {
  OpTrace t;
  t.step(1, 0, 10);
  copy(t, 1, CopyKind::DtoH, MemoryKind::Pinned, 10, 110, 8192, 1);
  copy(t, 2, CopyKind::HtoD, MemoryKind::Pinned, 120, 220, 8192, 3);
  copy(t, 3, CopyKind::HtoD, MemoryKind::Pinned, 230, 330, 8192, 5);
  const Report found = report(t.build());
  EXPECT_EQ(found.copies.returned.size(), 1U);
  EXPECT_THAT(ids(found), Contains("copies_there_and_back"));
}

TEST(Report, FindsStepsThatWaitForData) {
  OpTrace t;
  for (int i = 0; i < 3; ++i) {
    t.span("ProfilerStep#" + std::to_string(i), SpanKind::Step, t.main(), 1000 * i, 1000 * i + 999);
    t.annotation("load_batch", 1000 * i + 10, 1000 * i + 700);
    t.op("aten::mm", 1000 * i + 700, 1000 * i + 990);
  }
  EXPECT_EQ(first_id(t.build()), "synchronized_data_loader");
}

TEST(Report, FindsTimeOutsideOfOperators) {
  OpTrace t;
  t.span("ProfilerStep#1", SpanKind::Step, t.main(), 0, 1000);
  t.op("aten::mm", 0, 200);
  t.op("aten::mm", 250, 300);  // too soon after the first
  t.op("aten::mm", 700, 1000);
  const Report found = report(t.build());
  EXPECT_EQ(ids(found).front(), "outside_operators");
  EXPECT_EQ(found.findings.front().saving_ns, 400'000);
}

TEST(Report, FindsLoopsOverElements) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) {
    t.op("aten::select", 20 * i, 20 * i + 8);
    t.op("aten::add", 20 * i + 8, 20 * i + 18);
  }
  const Report found = report(t.build());
  EXPECT_EQ(ids(found).front(), "for_loop_indexing");
}

TEST(Report, DoesNotTakeADecodeLoopForALoopOverElements) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) {  // one index a round, and then the network
    t.op("aten::select", 1000 * i, 1000 * i + 8);
    t.op("aten::linear", 1000 * i + 8, 1000 * i + 600);
    t.op("aten::softmax", 1000 * i + 600, 1000 * i + 999);
  }
  EXPECT_THAT(ids(report(t.build())), Not(Contains("for_loop_indexing")));
}

TEST(Report, TellsElementsFromTheSamePlaceAgain) {
  const auto loop = [](bool successive) {
    OpTrace t;
    for (int i = 0; i < 12; ++i) {
      t.op("aten::select", 20 * i, 20 * i + 8)
          .tensor({12, 4})
          .scalar("0")
          .scalar(successive ? std::to_string(i) : "-1");
      t.op("aten::add", 20 * i + 8, 20 * i + 18);
    }
    return ids(report(t.build()));
  };
  EXPECT_THAT(loop(true), Contains("for_loop_indexing"));
  EXPECT_THAT(loop(false), Not(Contains("for_loop_indexing")));
}

TEST(Report, DoesNotCountTheFirstCallOfALoader) {
  OpTrace t;
  const std::string mark = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  t.annotation(mark, 0, 5000);  // starts the workers
  for (int i = 0; i < 6; ++i) {
    t.annotation(mark, 6000 + 100 * i, 6000 + 100 * i + 30);
    t.op("aten::mm", 6000 + 100 * i + 30, 6000 + 100 * i + 99);
  }
  const Report found = report(t.build());
  const auto loader =
      std::find_if(found.findings.begin(), found.findings.end(),
                   [](const auto& one) { return one.id == "synchronized_data_loader"; });
  ASSERT_NE(loader, found.findings.end());
  EXPECT_EQ(loader->count, 6U);
  EXPECT_EQ(loader->at_most_ns, 6 * 30'000);
  EXPECT_THAT(loader->advice, HasSubstr("has workers"));
  EXPECT_THAT(loader->advice, Not(HasSubstr("above 0")));
}

TEST(Report, DoesNotAdviseForeachOnTheHost) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) t.op("aten::addcdiv_", 30 * i, 30 * i + 30);
  EXPECT_THAT(ids(report(t.build())), Not(Contains("optimizer_single_tensor")));
}

TEST(Report, IsWholeAlthoughAScopeWasOpenAtTheEnd) {
  OpTrace t;
  t.builder().add_ledger(LedgerKind::Unfinished, 1);
  EXPECT_TRUE(report(t.build()).is_whole());
}

TEST(Report, DoesNotMissWhatItLookedFor) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) t.op("aten::zero_", 10 * i, 10 * i + 10);
  for (const std::string& text : report(t.build()).missing) {
    EXPECT_THAT(text, Not(HasSubstr("Gradient Set To Zero")));
    EXPECT_THAT(text, Not(HasSubstr("Optimizer Single Tensor")));
  }
}

TEST(Report, SaysThatAnotherProfilerSlowedTheProgramDown) {
  OpTrace t;
  t.flag("schemaVersion");
  t.flag("with_stack");
  for (int i = 0; i < 100; ++i) t.python("f", 10 * i, 10 * i + 9);
  t.op("aten::mm", 1000, 1100);
  const Report found = report(t.build());
  EXPECT_EQ(found.profiler_ns, (100 * 1'400 + 5'000) * 5 / 2);
  EXPECT_LT(found.measured_ns, 1'100'000);
  EXPECT_THAT(introduction(found).front(), HasSubstr("with_stack"));
}

TEST(Report, CountsADeviceAsBusyAsTheVerdictSays) {
  OpTrace t;
  t.step(1, 0, 1000);
  t.step(2, 1000, 2000);
  t.kernel("k", 100, 400);
  t.kernel("k", 1100, 1400);
  t.kernel("after the steps", 2400, 2900);
  const Report found = report(t.build());
  ASSERT_THAT(found.device_shares, SizeIs(1));
  EXPECT_EQ(found.device_shares[0].busy_ns, 600'000);
  EXPECT_EQ(found.device_shares[0].whole_ns, found.measured_ns);
  EXPECT_THAT(found.verdict, HasSubstr("it was busy 30.0 % of 2.000 ms"));
}

TEST(Report, TakesNoTimeOffInWhichADeviceWasBusy) {
  OpTrace t;
  t.flag("schemaVersion");
  t.flag("with_stack");
  for (int i = 0; i < 100; ++i) t.python("f", 10 * i, 10 * i + 9);
  t.kernel("k", 0, 950);
  const Report found = report(t.build());
  ASSERT_GT(found.profiler_ns, 0);
  EXPECT_GE(found.measured_ns, 950'000);
  EXPECT_GE(found.device_shares[0].whole_ns, 950'000);
}

TEST(RecordingCost, CountsWhatWasRecorded) {
  OpTrace t;
  t.builder().add_ledger(LedgerKind::EventCostPs, 10'000);
  t.builder().add_ledger(LedgerKind::EventsWritten, 1000);
  for (int i = 0; i < 10; ++i) t.op("aten::add", 10 * i, 10 * i + 5).tensor({4});
  t.annotation("step", 0, 100);
  const RecordingCost cost = recording_cost(t.build());
  ASSERT_EQ(cost.paths.size(), 3U);
  EXPECT_EQ(cost.paths[0].what, "operators");
  EXPECT_EQ(cost.paths[0].count, 10U);
  EXPECT_EQ(cost.total_ns, 10 * (120 + 150) + 20);
}

TEST(RecordingCost, CountsCallsOfPythonFunctions) {
  OpTrace t;
  t.builder().add_ledger(LedgerKind::EventCostPs, 10'000);
  for (int i = 0; i < 4; ++i) t.python("f", 10 * i, 10 * i + 9);
  const RecordingCost cost = recording_cost(t.build());
  ASSERT_EQ(cost.paths.size(), 1U);
  EXPECT_EQ(cost.paths[0].what, "calls of Python functions");
  EXPECT_EQ(cost.total_ns, 4 * 75);
}

// PyTorch makes a name for each gradient while anything records.
TEST(RecordingCost, OfAGradientIsThatOfManyOperators) {
  const auto cost = [](RecordScope scope) {
    OpTrace t;
    t.builder().add_ledger(LedgerKind::EventCostPs, 10'000);
    t.op("AddmmBackward0", 0, 5).scope(scope);
    return recording_cost(t.build()).total_ns;
  };
  EXPECT_EQ(cost(RecordScope::Function), 120);
  EXPECT_GT(cost(RecordScope::BackwardFunction), 3'000);
}

TEST(RecordingCost, IsWhatTheProcessMeasuredWhereItDid) {
  OpTrace t;
  t.builder().add_ledger(LedgerKind::EventCostPs, 10'000);
  t.builder().add_ledger(LedgerKind::EventCostPs, 200'000, "source", "operators");
  t.builder().add_ledger(LedgerKind::EventCostPs, 300'000, "source", "inputs of operators");
  t.op("aten::add", 0, 5).tensor({4});
  t.op("AddBackward0", 10, 15).tensor({4}).scope(RecordScope::BackwardFunction);
  const RecordingCost cost = recording_cost(t.build());
  EXPECT_EQ(cost.total_ns, 2 * (200 + 300) + 3'200) << "gradients were not measured";
}

TEST(RecordingCost, IsKnownWithoutTheCostOfAScope) {
  OpTrace t;
  t.builder().add_ledger(LedgerKind::EventCostPs, 200'000, "source", "operators");
  t.op("aten::add", 0, 5);
  EXPECT_EQ(recording_cost(t.build()).total_ns, 200);
}

TEST(Report, FindsConversionsOfLayout) {
  OpTrace t;
  launch(t, 1, 0, 5, 100);
  t.runtime("cudaLaunchKernel", 10, 12).correlation(2);
  t.kernel("void cudnn::engines_precompiled::nchwToNhwcKernel<float>", 101, 160).correlation(2);
  launch(t, 3, 14, 161, 300);
  EXPECT_THAT(ids(report(t.build())), Contains("layout_conversions"));
}

TEST(Report, DoesNotMindDeepNetworks) {
  OpTrace t;
  for (int i = 0; i < 20; ++i) {
    t.op("aten::linear", 20 * i, 20 * i + 10);
    t.op("aten::relu", 20 * i + 10, 20 * i + 20);
  }
  EXPECT_THAT(ids(report(t.build())), IsEmpty());
}

TEST(Report, FindsAnOptimiserThatTakesParametersOneByOne) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) {
    t.op("aten::mul_", 30 * i, 30 * i + 10);
    t.op("aten::addcmul_", 30 * i + 10, 30 * i + 20);
    t.op("aten::addcdiv_", 30 * i + 20, 30 * i + 30);
    launch(t, i + 1, 30 * i + 22, 30 * i + 27, 30 * i + 30);
  }
  const Report found = report(t.build());
  ASSERT_THAT(ids(found), Contains("optimizer_single_tensor"));
}

TEST(Report, FindsGradientsThatAreFilledWithZeros) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) t.op("aten::zero_", 10 * i, 10 * i + 10);
  EXPECT_EQ(first_id(t.build()), "gradient_not_set_to_none");
}

TEST(Report, FindsABiasBeforeABatchNormAndNotElsewhere) {
  const auto net = [](bool bias, std::string_view next) {
    OpTrace t;
    t.op("aten::conv2d", 0, 100);
    for (int i = 0; i < (bias ? 3 : 2); ++i) {
      OpArgumentRow row;
      row.index = i;
      row.kind = ArgumentKind::Tensor;
      row.dtype = t.builder().intern("float");
      t.builder().op_arguments().push_back(row);
    }
    t.builder().argument_lists().push_back({OpArgumentId(0), bias ? 3 : 2});
    t.builder().spans().arguments.set(SpanId(0), ArgumentListId(0));
    t.op("aten::add_", 60, 95);    // the bias
    t.op("aten::add_", 100, 105);  // counts batches
    t.op(next, 110, 160);
    return ids(report(t.build()));
  };
  EXPECT_THAT(net(true, "aten::batch_norm"), Contains("conv2d_bias_batch_norm"));
  EXPECT_THAT(net(false, "aten::batch_norm"), IsEmpty());
  EXPECT_THAT(net(true, "aten::relu"), IsEmpty());
}

// A loop that takes one element of two tensors in each round, as in `a[i].item() - b[i].item()`.
TEST(Report, FindsALoopOverTheElementsOfTwoTensors) {
  OpTrace t;
  for (int i = 0; i < 40; ++i) {
    const std::string index = std::to_string(i / 2);
    t.op("aten::select", 10 * i, 10 * i + 3).tensor({64}).scalar("0").scalar(index);
    t.op("aten::item", 10 * i + 4, 10 * i + 8);
  }
  const Report found = report(t.build());
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(found.findings.front().id, "for_loop_indexing");
  EXPECT_THAT(found.findings.front().detail, HasSubstr("(aten::select, aten::item)"));
}

TEST(Report, ForgivesALoopWhoseProcessorWasTakenAway) {
  OpTrace t;
  for (int i = 0; i < 20; ++i) t.op("aten::select", 10 * i, 10 * i + 8);
  t.op("aten::select", 200, 9'000);
  EXPECT_EQ(first_id(t.build()), "for_loop_indexing");
}

// Where no library multiplies batches of matrices, aten::bmm takes them one by one itself.
TEST(Report, DoesNotBlameTheProgramForALoopInsideAnOperator) {
  OpTrace t;
  t.op("aten::bmm", 0, 500);
  for (int i = 0; i < 20; ++i) t.op("aten::select", 20 * i + 1, 20 * i + 9);
  EXPECT_THAT(ids(report(t.build())), IsEmpty());
}

TEST(Report, BeginsWithHowTheProgramEnded) {
  OpTrace t;
  t.op("aten::mm", 10, 40);
  const SpanId open = t.op("aten::tanh", 50, 90).span();
  t.builder().spans().flags.set(open, SpanFlags::kUnfinished);
  t.builder().metadata().push_back(
      {ProcessId(0), t.builder().intern("program_ended"), t.builder().intern(R"({"signal": 11})")});
  const Trace trace = t.build();
  const Report found = report(trace);
  EXPECT_EQ(found.end.signal, 11);
  const std::vector<std::string> lines = sentences(trace, found.end);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("killed by SIGSEGV"));
  EXPECT_THAT(lines[1], HasSubstr("aten::tanh, which had not ended (thread 100)"));
}

Trace with_processor_time(std::string_view json) {
  OpTrace t;
  t.op("aten::mm", 0, 100'000);
  t.builder().metadata().push_back(
      {ProcessId(0), t.builder().intern("processor_time"), t.builder().intern(json)});
  return t.build();
}

TEST(Report, FindsThreadsThatFightForCores) {
  const Report found = report(with_processor_time(
      R"({"cores": 2, "wall_ns": 100, "ran_ns": 200, "waited_ns": 500, "threads": 9})"));
  EXPECT_THAT(ids(found), Contains("threads_fight_for_cores"));
  EXPECT_THAT(found.verdict, HasSubstr("7.0 threads wanted to run at once, on 2 cores"));
}

// One thread that waits for a core waits for another program.
TEST(Report, SaysThatOtherProgramsTookTheProcessor) {
  const Report found = report(with_processor_time(
      R"({"cores": 2, "wall_ns": 100, "ran_ns": 60, "waited_ns": 30, "threads": 1})"));
  EXPECT_THAT(ids(found), Not(Contains("threads_fight_for_cores")));
  ASSERT_EQ(introduction(found).size(), 1U);
  EXPECT_THAT(introduction(found)[0], HasSubstr("33 % of the time"));
  // Many threads that hardly ran did not hold each other up.
  EXPECT_THAT(ids(report(with_processor_time(
                  R"({"cores": 2, "wall_ns": 100, "ran_ns": 5, "waited_ns": 500, "threads": 9})"))),
              Not(Contains("threads_fight_for_cores")));
}

TEST(Report, BelievesNoProcessorTimeThatMakesNoSense) {
  for (const char* const json : {"", "{}", R"({"cores": -1, "wall_ns": x})", R"({"cores": 99999})"})
    EXPECT_FALSE(report(with_processor_time(json)).processor.is_known()) << json;
}

// Each iteration keeps one block; nobody marked steps.
TEST(Report, FindsMemoryThatGrowsInAProgramWithoutSteps) {
  const auto program = [](bool keeps) {
    OpTrace t;
    for (int i = 0; i < 12; ++i) {
      const Nanos at = 100 * i;
      t.op("aten::randn", at, at + 10);
      const SpanId sum = t.op("aten::sum", at + 20, at + 40).span();
      t.op("aten::mul", at + 50, at + 60);
      t.op("aten::backward", at + 70, at + 80);
      const auto add = [&](Nanos time_us, std::int64_t bytes) {
        t.builder().allocations().push_back({.time_ns = time_us * 1000,
                                             .track = t.main(),
                                             .address = 0x1000U + static_cast<unsigned>(i) * 64,
                                             .bytes = bytes,
                                             .device_type = DeviceType::Cpu,
                                             .span = sum});
      };
      add(at + 30, 64);
      if (!keeps) add(at + 90, -64);
    }
    return report(t.build());
  };
  const Report found = program(true);
  const auto grows =
      std::find_if(found.findings.begin(), found.findings.end(),
                   [](const Finding& finding) { return finding.id == "memory_grows_cpu"; });
  ASSERT_NE(grows, found.findings.end());
  EXPECT_THAT(grows->detail, HasSubstr("about 64 B a step. 640 B from aten::sum"));
  EXPECT_THAT(ids(program(false)), Not(Contains("memory_grows_cpu")));
}

TEST(Report, FindsMatrixProductsOfAnUnoptimisedLibrary) {
  const auto product = [](Nanos length_us, std::string_view type, std::int64_t size) {
    OpTrace t;
    t.op("aten::mm", 0, length_us).tensor({size, size}, type).tensor({size, size}, type);
    return ids(report(t.build()));
  };
  EXPECT_THAT(product(10'000, "float", 256), Contains("slow_products")) << "3 GFLOP/s";
  EXPECT_THAT(product(1'000, "float", 256), IsEmpty()) << "34 GFLOP/s";
  EXPECT_THAT(product(10'000, "c10::BFloat16", 256), IsEmpty()) << "may lack instructions";
  EXPECT_THAT(product(100, "float", 16), IsEmpty()) << "mostly the cost of a call";
}

// What a program does already is no advice.
TEST(Report, AdvisesACompiledProgramToUseCudaGraphs) {
  const auto advice_for = [](std::string_view around) {
    OpTrace t;
    t.op(around, 0, 1000);
    for (int i = 0; i < 10; ++i) launch(t, i + 1, 100 * i + 90, 100 * i + 95, 100 * i + 97);
    const Report found = report(t.build());
    return found.findings.empty() ? "" : found.findings.front().advice;
  };
  EXPECT_THAT(advice_for("Torch-Compiled Region: 0/0"), HasSubstr("reduce-overhead"));
  EXPECT_THAT(advice_for("Torch-Compiled Region: 0/0"), Not(HasSubstr(", torch.compile")));
  EXPECT_THAT(advice_for("aten::linear"), HasSubstr("torch.compile"));
}

TEST(Report, FindsCopiesThatChangeNothing) {
  OpTrace t;
  t.op("aten::clone", 0, 100);
  t.op("aten::copy_", 10, 90);
  t.op("aten::mm", 100, 200);
  EXPECT_EQ(first_id(t.build()), "extra_copies");
}

TEST(Report, FindsStepsThatTakeLonger) {
  OpTrace t;
  for (int i = 0; i < 6; ++i) {
    t.span("ProfilerStep#" + std::to_string(i), SpanKind::Step, t.main(), 1000 * i,
           1000 * i + (i == 3 ? 900 : 100));
    t.op("aten::mm", 1000 * i, 1000 * i + (i == 3 ? 900 : 100));
  }
  const Report found = report(t.build());
  EXPECT_EQ(ids(found).front(), "outlier_steps");
  EXPECT_EQ(found.findings.front().saving_ns, 800'000);
  EXPECT_THAT(found.findings.front().detail, HasSubstr("aten::mm took 800.000 µs more"));
}

TEST(Report, FindsCommunicationThatNothingHides) {
  OpTrace t;
  launch(t, 1, 0, 10, 100);
  t.kernel("ncclDevKernel_AllReduce", 100, 180).correlation(2);
  t.runtime("cudaLaunchKernelExC", 20, 22).correlation(2);
  const Report found = report(t.build());
  EXPECT_EQ(ids(found).front(), "exposed_communication");
  EXPECT_EQ(found.findings.front().saving_ns, 80'000);
}

TEST(Report, KnowsWhoHeldMostMemory) {
  OpTrace t;
  t.op("aten::mm", 0, 100);
  t.builder().allocations().push_back({.time_ns = 10'000,
                                       .track = t.main(),
                                       .address = 1,
                                       .bytes = 4096,
                                       .device_type = DeviceType::Cuda,
                                       .device_index = 0,
                                       .span = SpanId(0)});
  const Report found = report(t.build());
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].owner, "aten::mm");
  EXPECT_EQ(found.findings.back().id, "memory_peak_cuda:0");
  EXPECT_EQ(found.findings.back().saving_ns, 0);
}

TEST(Report, RanksByWhatCouldBeSaved) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) t.op("aten::zero_", 10 * i, 10 * i + 10);
  for (int i = 0; i < 12; ++i) t.op("aten::select", 120 + 25 * i, 145 + 25 * i);
  const Report found = report(t.build());
  ASSERT_EQ(found.findings.size(), 2U);
  EXPECT_EQ(found.findings[0].id, "for_loop_indexing");
  EXPECT_GT(found.findings[0].saving_ns, found.findings[1].saving_ns);
}

TEST(HostTime, AddsUpEqualPaths) {
  OpTrace t;
  t.op("outer", 0, 100);
  t.op("inner", 10, 40);
  t.op("inner", 50, 70);
  t.op("outer", 100, 150);
  const HostTime host = host_time(t.build());
  ASSERT_EQ(host.flame.size(), 4U);  // all, the thread, outer, inner
  EXPECT_EQ(host.flame[0].total_ns, 150'000);
  EXPECT_EQ(host.flame[2].total_ns, 150'000);
  EXPECT_EQ(host.flame[2].self_ns, 100'000);
  EXPECT_EQ(host.flame[3].count, 2U);
  Nanos own_ns = 0;
  for (const FlameNode& node : host.flame) own_ns += node.self_ns;
  EXPECT_EQ(own_ns, host.flame[0].total_ns);
  ASSERT_EQ(host.operators.size(), 2U);
  EXPECT_EQ(host.operators[0].name, "outer");
  EXPECT_EQ(host.operators[0].self_ns, 100'000);
}

TEST(HostTime, LeavesOutMostOfVeryManyPaths) {
  OpTrace t;
  constexpr int kSpans = 150'000;
  t.op("outer", 0, 10 * kSpans);
  for (int i = 0; i < kSpans; ++i) t.op("request " + std::to_string(i), 10 * i, 10 * i + 8);
  const HostTime host = host_time(t.build());
  EXPECT_LT(host.flame.size(), std::size_t{kSpans});
  EXPECT_EQ(host.operators.size(), std::size_t{kSpans} + 1);
  Nanos own_ns = 0;
  for (const FlameNode& node : host.flame) own_ns += node.self_ns;
  EXPECT_EQ(own_ns, host.flame[0].total_ns);
}

TEST(HostTime, KeepsShortPathsThatComeAfterManyDeepOnes) {
  OpTrace t;
  constexpr int kSpans = 150'000;
  t.op("early", 0, 10 * kSpans);
  for (const char* const name : {"b", "c", "d"}) t.op(name, 0, 10 * kSpans);
  for (int i = 0; i < kSpans; ++i) t.op("request " + std::to_string(i), 10 * i, 10 * i + 8);
  t.op("late", 10 * kSpans, 20 * kSpans);
  const HostTime host = host_time(t.build());
  EXPECT_LT(host.flame.size(), std::size_t{kSpans});
  EXPECT_EQ(host.flame.back().name, "late");
}

TEST(HostTime, AddsUpWhatTheProgramMarked) {
  OpTrace t;
  t.annotation("outer", 0, 100);
  t.annotation("inner", 10, 40);
  t.op("aten::add", 50, 70);
  const HostTime host = host_time(t.build());
  ASSERT_EQ(host.scopes.size(), 2U);
  EXPECT_EQ(host.scopes[0].name, "outer");
  EXPECT_EQ(host.scopes[0].self_ns, 50'000);
  EXPECT_EQ(host.scopes[1].self_ns, 30'000);
}

TEST(HostTime, CountsWhatSiblingsOverlapOnce) {
  OpTrace t;
  t.op("outer", 0, 100);
  t.op("a", 10, 50);
  t.op("b", 40, 80);
  const HostTime host = host_time(t.build());
  EXPECT_EQ(host.flame[2].name, "outer");
  EXPECT_EQ(host.flame[2].self_ns, 30'000);
}

TEST(OpRuns, AreTheShortestThatRepeat) {
  OpTrace t;
  for (int i = 0; i < 20; ++i) t.op(i % 2 == 0 ? "a" : "b", 10 * i, 10 * i + 10);
  std::size_t lists = 0;
  const Trace trace = t.build();
  detail::visit_siblings(trace, [&](std::span<const SpanId> siblings) {
    ++lists;
    const std::vector<detail::OpRun> runs = detail::op_runs(trace, siblings);
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].period, 2U);
    EXPECT_EQ(runs[0].repeats(), 10U);
  });
  EXPECT_EQ(lists, 1U);
}

// A product with one row reads its matrix once: no library makes that faster.
TEST(Report, DoesNotJudgeProductsThatMemoryLimits) {
  OpTrace t;
  t.op("aten::mm", 0, 10'000).tensor({1, 4096}, "float").tensor({4096, 4096}, "float");
  EXPECT_THAT(ids(report(t.build())), Not(Contains("slow_products")));
}

TEST(Report, DoesNotPromiseWhatABusyMachineTook) {
  const auto program = [](std::string_view json) {
    OpTrace t;
    for (int i = 0; i < 8; ++i) {
      const Nanos begin_us = 10'000 * i;
      const Nanos end_us = begin_us + (i == 5 ? 9'000 : 1'000 + i);
      const auto step = t.span("ProfilerStep#1", SpanKind::Step, t.main(), begin_us, end_us);
      t.builder().spans().step.set(step.span(), i);
      t.op("aten::mm", begin_us + 1, end_us - 1);
    }
    t.builder().metadata().push_back(
        {ProcessId(0), t.builder().intern("processor_time"), t.builder().intern(json)});
    return report(t.build());
  };
  const Report idle =
      program(R"({"cores": 2, "wall_ns": 100, "ran_ns": 90, "waited_ns": 1, "process_ns": 90})");
  ASSERT_EQ(idle.findings.front().id, "outlier_steps");
  EXPECT_GT(idle.findings.front().saving_ns, 0);
  const Report busy =
      program(R"({"cores": 2, "wall_ns": 100, "ran_ns": 50, "waited_ns": 40, "process_ns": 50})");
  ASSERT_EQ(busy.findings.front().id, "outlier_steps");
  EXPECT_EQ(busy.findings.front().saving_ns, 0);
  EXPECT_THAT(busy.findings.front().detail, HasSubstr("may only have waited for a core"));
}

// Threads that ended between two looks ran for most of the time.
TEST(Report, DoesNotKnowHowLongThreadsWaitedThatItNeverSaw) {
  EXPECT_FALSE(
      report(with_processor_time(R"({"cores": 2, "wall_ns": 100, "ran_ns": 3, "waited_ns": 26,)"
                                 R"( "process_ns": 90, "threads": 1})"))
          .processor.is_known());
}

TEST(Report, NamesTheLastOperatorOfAProgramThatFailed) {
  OpTrace t;
  t.op("aten::mm", 10, 40);
  t.op("aten::nll_loss_nd", 50, 90);
  t.builder().metadata().push_back(
      {ProcessId(0), t.builder().intern("program_ended"), t.builder().intern(R"({"status": 1})")});
  const Trace trace = t.build();
  const std::vector<std::string> lines = sentences(trace, report(trace).end);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[1], HasSubstr("aten::nll_loss_nd"));
}

}  // namespace
}  // namespace sonde
