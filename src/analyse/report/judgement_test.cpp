// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an expert would doubt: savings that nobody would get, and one cause told twice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/critical_path.h"
#include "sonde/analyse/report.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::OpTrace;

const Finding* finding(const Report& found, std::string_view id) {
  const auto at = std::find_if(found.findings.begin(), found.findings.end(),
                               [id](const Finding& one) { return one.id == id; });
  return at == found.findings.end() ? nullptr : &*at;
}
Nanos saving(const Report& found, std::string_view id) {
  const Finding* const one = finding(found, id);
  return one == nullptr ? -1 : one->saving_ns;
}

void schedule(OpTrace& t, std::string_view json) {
  t.builder().metadata().push_back(
      {ProcessId(0), t.builder().intern("processor_time"), t.builder().intern(json)});
}

// A loop that computes for 2 ms, and then does nothing that a trace shows for 8 ms.
OpTrace loop_with_pauses(bool trains) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 10'000 * i;
    t.op("aten::linear", begin_us, begin_us + 1'000);
    t.op("aten::gelu", begin_us + 1'000, begin_us + 1'500);
    t.op("aten::softmax", begin_us + 1'500, begin_us + 1'900);
    const auto last = t.op("aten::argmax", begin_us + 1'900, begin_us + 2'000).span();
    if (trains) t.builder().spans().scope.set(last, RecordScope::BackwardFunction);
  }
  return t;
}
constexpr std::string_view kSlept = R"({"cores": 2, "wall_ns": 92000000, "ran_ns": 20000000,)"
                                    R"( "waited_ns": 0, "by_thread": {"100": [20000000, 0]}})";
constexpr std::string_view kRan = R"({"cores": 2, "wall_ns": 92000000, "ran_ns": 91000000,)"
                                  R"( "waited_ns": 0, "by_thread": {"100": [91000000, 0]}})";

TEST(Judgement, AServerThatWaitsForRequestsHasNothingToSave) {
  OpTrace t = loop_with_pauses(false);
  schedule(t, kSlept);
  const Report found = report(t.build());
  EXPECT_EQ(saving(found, "outside_operators"), 0);
  EXPECT_THAT(finding(found, "outside_operators")->detail, HasSubstr("it slept"));
}

// 100 operators with 50 us between them, and after the last a gap of 1 ms. The thread waited for a
// core for a fifth of the time, wherever it was.
TEST(Judgement, GapsThatWaitingForACoreExplainsAreNotPromised) {
  const auto promised = [](std::string_view waited) {
    OpTrace t;
    t.step(1, 0, 16'000);
    for (int i = 0; i < 100; ++i) t.op("aten::add", 150 * i, 150 * i + 100);
    schedule(t, R"({"cores": 2, "wall_ns": 100, "ran_ns": 80, "waited_ns": )" +
                    std::string(waited) + "}");
    return saving(report(t.build()), "outside_operators");
  };
  EXPECT_GT(promised("0"), 900'000);
  EXPECT_LE(promised("20"), 0) << "1.2 of the 6 ms between operators";
}

// One step of twenty takes 2 ms more, an eleventh of the time; the thread waited for a core for a
// thirtieth of it.
TEST(Judgement, SlowStepsThatWaitingForACoreExplainsAreNotPromised) {
  const auto promised = [](std::string_view waited) {
    OpTrace t;
    Nanos at_us = 0;
    for (int i = 0; i < 20; ++i) {
      const Nanos begin_us = std::exchange(at_us, at_us + (i == 12 ? 3'000 : 1'000 + i));
      t.step(i, begin_us, at_us);
      t.op("aten::mm", begin_us + 1, at_us - 1);
    }
    schedule(t, R"({"cores": 2, "wall_ns": 100, "ran_ns": 58, "waited_ns": )" +
                    std::string(waited) + "}");
    return saving(report(t.build()), "outlier_steps");
  };
  EXPECT_GT(promised("0"), 1'900'000);
  EXPECT_EQ(promised("2"), 0);
}

TEST(Judgement, CodeThatRunsBetweenOperatorsIsPromised) {
  OpTrace t = loop_with_pauses(false);
  schedule(t, kRan);
  EXPECT_GT(saving(report(t.build()), "outside_operators"), 60'000'000);
}

TEST(Judgement, StepsOfTrainingShouldNotWait) {
  OpTrace t = loop_with_pauses(true);
  schedule(t, kSlept);
  const Report found = report(t.build());
  EXPECT_GT(saving(found, "outside_operators"), 60'000'000);
  EXPECT_THAT(finding(found, "outside_operators")->detail, HasSubstr("it waited for data"));
}

TEST(Judgement, WhatATraceDoesNotShowIsNotPromised) {
  const Report found = report(loop_with_pauses(false).build());
  EXPECT_EQ(saving(found, "outside_operators"), 0);
  EXPECT_THAT(finding(found, "outside_operators")->detail, HasSubstr("does not show whether"));
}

// The same of a device's host.
TEST(Judgement, ADeviceMayWaitForRequests) {
  const auto program = [](std::string_view json) {
    OpTrace t;
    for (int i = 0; i < 10; ++i) {
      t.runtime("cudaLaunchKernel", 10'000 * i, 10'000 * i + 2).correlation(i + 1);
      t.kernel("gemm", 10'000 * i + 5, 10'000 * i + 2'000).correlation(i + 1);
    }
    schedule(t, json);
    return report(t.build());
  };
  EXPECT_EQ(saving(program(kSlept), "host_bound"), 0);
  EXPECT_GT(saving(program(kRan), "host_bound"), 50'000'000);
}

TEST(Judgement, ASlowStepIsToldOnce) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 10'000 * i;
    t.step(i, begin_us, begin_us + (i == 6 ? 9'000 : 1'000));
    t.op("aten::mm", begin_us, begin_us + 1'000);
  }
  const Report found = report(t.build());
  EXPECT_EQ(saving(found, "outlier_steps"), 8'000'000);
  EXPECT_EQ(finding(found, "outside_operators"), nullptr);
}

TEST(Judgement, AWorkerNeedsAFreeCore) {
  const auto program = [](std::string_view json) {
    OpTrace t;
    for (int i = 0; i < 5; ++i) {
      t.step(i, 1000 * i, 1000 * i + 1'000);
      t.annotation("load_batch", 1000 * i, 1000 * i + 400);
      t.op("aten::mm", 1000 * i + 400, 1000 * i + 1'000);
    }
    schedule(t, json);
    return report(t.build());
  };
  EXPECT_GT(saving(program(R"({"cores": 4, "wall_ns": 100, "ran_ns": 100, "waited_ns": 0})"),
                   "synchronized_data_loader"),
            1'000'000);
  const Report full = program(R"({"cores": 2, "wall_ns": 100, "ran_ns": 199, "waited_ns": 0})");
  EXPECT_EQ(saving(full, "synchronized_data_loader"), 0);
  EXPECT_THAT(finding(full, "synchronized_data_loader")->detail, HasSubstr("No core was free"));
  EXPECT_EQ(saving(program(R"({"cores": 2, "wall_ns": 100, "ran_ns": 60, "waited_ns": 40})"),
                   "synchronized_data_loader"),
            0)
      << "other programs have the cores";
}

// 100 products at 5 GFLOP/s, 60 small ones at 14.
TEST(Judgement, ALibraryIsSlowThatIsSlowForMostProducts) {
  OpTrace t;
  t.step(1, 0, 1'020'000);
  for (int i = 0; i < 100; ++i)
    t.op("aten::mm", 10'000 * i, 10'000 * i + 6'710)
        .tensor({256, 256}, "float")
        .tensor({256, 256}, "float");
  for (int i = 0; i < 60; ++i)
    t.op("aten::mm", 1'000'000 + 200 * i, 1'000'000 + 200 * i + 126)
        .tensor({96, 96}, "float")
        .tensor({96, 96}, "float");
  EXPECT_GT(saving(report(t.build()), "slow_products"), 0);
}

// Loading takes 1.2 % of each step, and nothing is known of cores.
TEST(Judgement, LittleLoadingIsMinorAndNotForWantOfCores) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 10'000 * i;
    t.step(i, begin_us, begin_us + 10'000);
    t.annotation("load_batch", begin_us, begin_us + 120);
    t.op("aten::mm", begin_us + 120, begin_us + 10'000);
  }
  const Report found = report(t.build());
  EXPECT_EQ(finding(found, "synchronized_data_loader"), nullptr);
  EXPECT_THAT(found.minor, ::testing::Contains("Steps wait for their data"));
}

// A batch that is taken row by row: 100 rounds of 2 us of calls, and a product of 90.
TEST(Judgement, ALoopOverRowsSavesItsCallsAndNotItsWork) {
  OpTrace t;
  for (int i = 0; i < 100; ++i) {
    t.op("aten::select", 100 * i, 100 * i + 1);
    t.op("aten::unsqueeze", 100 * i + 2, 100 * i + 3);
    t.op("aten::addmm", 100 * i + 4, 100 * i + 94);
  }
  const Report found = report(t.build());
  const Nanos promised = saving(found, "for_loop_indexing");
  EXPECT_GT(promised, 900'000);
  EXPECT_LT(promised, 1'100'000) << "of 10 ms";
}

TEST(Judgement, ProductsOfDoublesAreNamed) {
  const auto found = [](std::string_view type) {
    OpTrace t;
    t.op("aten::mm", 0, 500).tensor({256, 256}, type).tensor({256, 256}, type);
    t.op("aten::relu", 500, 900).tensor({256, 256}, type);
    return report(t.build());
  };
  EXPECT_GT(saving(found("double"), "double_products"), 100'000);
  EXPECT_EQ(finding(found("float"), "double_products"), nullptr);
}

// Most calls hardly waited for a core: the limit stays as it is.
TEST(Judgement, SlowProductsAreSlowOnABusyMachineToo) {
  OpTrace t;
  t.op("aten::mm", 0, 5'000).tensor({256, 256}, "float").tensor({256, 256}, "float");
  schedule(t, R"({"cores": 2, "wall_ns": 100, "ran_ns": 60, "waited_ns": 40})");
  EXPECT_GT(saving(report(t.build()), "slow_products"), 0);
}

TEST(Judgement, ABoundIsOfTheTimeWithoutTheProfiler) {
  OpTrace t;
  t.flag("schemaVersion");
  for (int i = 0; i < 100; ++i) {
    t.op("aten::add", 100 * i, 100 * i + 90);
    t.runtime("cudaLaunchKernel", 100 * i + 80, 100 * i + 84).correlation(i + 1);
    t.kernel("k", 100 * i + 86, 100 * i + 88).correlation(i + 1);
  }
  const Report found = report(t.build());
  ASSERT_GT(found.profiler_ns, 0);
  const Finding* const slow = finding(found, "launch_bound");
  ASSERT_NE(slow, nullptr);
  EXPECT_LT(slow->at_most_ns, found.measured_ns);
  EXPECT_GE(slow->at_most_ns, slow->saving_ns);
}

// A copy of 64 MiB at 8 GB/s, with nothing that could run beside it.
TEST(Judgement, PinnedCopiesAreFasterToo) {
  OpTrace t;
  t.builder().devices().push_back({.name = t.builder().intern("H200"), .compute_major = 9});
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 10'000 * i;
    t.runtime("cudaMemcpyAsync", begin_us, begin_us + 8'400).correlation(i + 1);
    const auto copy =
        t.span("Memcpy", SpanKind::GpuMemcpy, TrackId(1), begin_us + 10, begin_us + 8'390);
    t.builder().spans().correlation.set(copy.span(), i + 1);
    t.builder().copies().push_back({.span = copy.span(),
                                    .bytes = 64 << 20,
                                    .kind = CopyKind::HtoD,
                                    .source_kind = MemoryKind::Pageable,
                                    .destination_kind = MemoryKind::Device});
  }
  const Report found = report(t.build());
  const Finding* const pageable = finding(found, "pageable_copies");
  ASSERT_NE(pageable, nullptr);
  EXPECT_GT(pageable->saving_ns, 50'000'000);
  EXPECT_THAT(pageable->detail, HasSubstr("45 GB/s (an assumption)"));
}

TEST(Judgement, ADeviceIsFullWithABlockForMostMultiprocessors) {
  const auto program = [](int blocks) {
    OpTrace t;
    t.builder().devices().push_back({.name = t.builder().intern("H200"), .multiprocessors = 132});
    for (int i = 0; i < 10; ++i) {
      const auto kernel = t.kernel("gemm", 100 * i, 100 * i + 100).span();
      t.builder().kernels().push_back({.span = kernel, .grid_x = blocks, .grid_y = 1, .grid_z = 1});
    }
    return report(t.build());
  };
  EXPECT_EQ(finding(program(128), "small_grids"), nullptr);
  EXPECT_NE(finding(program(32), "small_grids"), nullptr);
}

TEST(Judgement, KnowsProductsOnTheOrdinaryUnitsByTheirNames) {
  const auto program = [](std::string_view kernel) {
    OpTrace t;
    t.builder().devices().push_back({.name = t.builder().intern("H200"), .compute_major = 9});
    for (int i = 0; i < 10; ++i) t.kernel(kernel, 100 * i, 100 * i + 100);
    return finding(report(t.build()), "fp32_matmul") != nullptr;
  };
  EXPECT_TRUE(
      program("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_ffma_aligna4"));
  EXPECT_TRUE(program("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>"));
  EXPECT_FALSE(program("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4"));
  EXPECT_FALSE(program("sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x256x64"));
}

// If many launches become one, the time from each launch to its kernel is gone as well.
TEST(Judgement, LaunchesThatBecomeOneTakeTheirDelaysWithThem) {
  OpTrace t;
  for (int i = 0; i < 200; ++i) {
    t.op("aten::add", 20 * i, 20 * i + 16);
    t.runtime("cudaLaunchKernel", 20 * i + 6, 20 * i + 10).correlation(i + 1);
    t.kernel("k", 20 * i + 14, 20 * i + 16).correlation(i + 1);
  }
  const Report found = report(t.build());
  EXPECT_GT(saving(found, "launch_bound"), 3'000'000) << "of 4 ms";
  EXPECT_EQ(finding(found, "host_bound"), nullptr) << "4 us between two operators are Python's";
}

// The path leaves an operator for the calls inside it and comes back.
TEST(Judgement, ThePathCountsCallsAndNotTheirPieces) {
  OpTrace t;
  for (int i = 0; i < 3; ++i) {
    t.op("aten::linear", 100 * i, 100 * i + 90);
    t.op("aten::t", 100 * i + 10, 100 * i + 20);
    t.op("aten::addmm", 100 * i + 30, 100 * i + 80);
  }
  const CriticalPath path = critical_path(t.build());
  const auto linear = std::find_if(path.entries.begin(), path.entries.end(),
                                   [](const PathEntry& one) { return one.name == "aten::linear"; });
  ASSERT_NE(linear, path.entries.end());
  EXPECT_EQ(linear->count, 3U);
}

// A slow recording makes views of device tensors take long: that is launching, not computing.
TEST(Judgement, ViewsOfDeviceTensorsAreNotComputedByTheHost) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 1'000 * i;
    t.op("autograd::engine::evaluate_function: TBackward0", begin_us, begin_us + 500);
    t.op("TBackward0", begin_us + 10, begin_us + 490);
    t.op("aten::t", begin_us + 50, begin_us + 450);
    t.op("aten::transpose", begin_us + 100, begin_us + 400);
    t.op("aten::mm", begin_us + 510, begin_us + 540);
    t.runtime("cudaLaunchKernel", begin_us + 520, begin_us + 524).correlation(i + 1);
    t.kernel("k", begin_us + 526, begin_us + 1'000).correlation(i + 1);
  }
  const Report found = report(t.build());
  EXPECT_EQ(finding(found, "host_computes"), nullptr);
  EXPECT_NE(finding(found, "launch_bound"), nullptr);
}

// 1 ms of work on a device, then a mask that the host computes for 3 ms, then the next launch.
TEST(Judgement, AGapBelongsToWhatTheHostDidAndNotToTheNextLaunch) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 4'000 * i;
    t.op("aten::triu", begin_us, begin_us + 3'000);
    t.op("aten::to", begin_us + 3'000, begin_us + 3'020);
    t.runtime("cudaLaunchKernel", begin_us + 3'010, begin_us + 3'014).correlation(i + 1);
    t.kernel("k", begin_us + 3'016, begin_us + 4'000).correlation(i + 1);
  }
  const Report found = report(t.build());
  ASSERT_NE(finding(found, "host_computes"), nullptr);
  EXPECT_EQ(found.findings.front().id, "host_computes");
  EXPECT_EQ(finding(found, "host_computes")->groups.front().name, "aten::triu");
  EXPECT_EQ(finding(found, "launch_bound"), nullptr);
}

// Under a profiler that takes its time, gradients of views are slow and still compute nothing.
TEST(Judgement, GradientsOfViewsDoNotComputeOnTheHost) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 4'000 * i;
    t.op("autograd::engine::evaluate_function: ViewBackward0", begin_us, begin_us + 3'000);
    t.op("ViewBackward0", begin_us + 100, begin_us + 2'900);
    t.op("aten::reshape", begin_us + 200, begin_us + 2'800);
    t.op("aten::view", begin_us + 300, begin_us + 2'700);
    t.op("aten::mul", begin_us + 3'000, begin_us + 3'020);
    t.runtime("cudaLaunchKernel", begin_us + 3'010, begin_us + 3'014).correlation(i + 1);
    t.kernel("k", begin_us + 3'016, begin_us + 4'000).correlation(i + 1);
  }
  const Report found = report(t.build());
  EXPECT_EQ(finding(found, "host_computes"), nullptr);
  EXPECT_EQ(found.findings.front().id, "launch_bound");
}

// The host is far ahead: a step that takes long only waits until the device has caught up.
TEST(Judgement, AStepThatWaitsForABusyDeviceIsNoOutlier) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = i < 9 ? 100 * i : 900;
    t.step(i, begin_us, i < 9 ? begin_us + 100 : 9'950);
    t.runtime("cudaLaunchKernel", begin_us + 10, begin_us + 20).correlation(i + 1);
    t.kernel("gemm", 1'000 * i + 30, 1'000 * i + 1'030).correlation(i + 1);
  }
  EXPECT_EQ(finding(report(t.build()), "outlier_steps"), nullptr);
}

TEST(Judgement, SlowStepsThatWaitForDataAreToldByTheLoader) {
  OpTrace t;
  for (int i = 0; i < 12; ++i) {
    const Nanos begin_us = 10'000 * i;
    const Nanos load_us = i % 6 == 5 ? 8'000 : 100;
    t.step(i, begin_us, begin_us + load_us + 1'000);
    t.annotation("load_batch", begin_us, begin_us + load_us);
    t.op("aten::mm", begin_us + load_us, begin_us + load_us + 1'000);
  }
  const Report found = report(t.build());
  EXPECT_EQ(found.findings.front().id, "synchronized_data_loader");
  EXPECT_EQ(finding(found, "outlier_steps"), nullptr);
}

// What is taken away takes its delays with it: 1,000 kernels of 1 us that begin 9 us after each
// other.
TEST(Judgement, ARemovedLoopLeavesNoDelaysBehind) {
  OpTrace t;
  for (int i = 0; i < 500; ++i) {
    t.op("aten::select", 20 * i, 20 * i + 3);
    t.op("aten::add", 20 * i + 4, 20 * i + 19);
    t.runtime("cudaLaunchKernel", 20 * i + 6, 20 * i + 9).correlation(i + 1);
    t.kernel("k", 20 * i + 14, 20 * i + 15).correlation(i + 1);
  }
  const Report found = report(t.build());
  EXPECT_GT(saving(found, "for_loop_indexing"), 9'500'000) << "of 10 ms";
}

// A launch that blocks because the device has taken no more for now does not hold anything up.
TEST(Judgement, AFullQueueIsAWaitForTheDevice) {
  OpTrace t;
  t.builder().devices().push_back(
      {.name = t.builder().intern("H200"), .compute_major = 9, .compute_minor = 0});
  for (int i = 0; i < 50; ++i) {  // from the tenth on, each launch waits for a kernel
    const Nanos begin_us = i < 10 ? 10 * i : 1'000 * (i - 9);
    t.op("aten::mm", begin_us, begin_us + (i < 10 ? 8 : 998));
    t.runtime("cudaLaunchKernel", begin_us + 2, begin_us + (i < 10 ? 6 : 995)).correlation(i + 1);
    t.kernel("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128>", 10 + 1'000 * i,
             1'010 + 1'000 * i)
        .correlation(i + 1);
  }
  const Report found = report(t.build());
  EXPECT_GT(saving(found, "fp32_matmul"), 35'000'000) << "four fifths of 50 ms";
}

TEST(Judgement, TheSteadyPartLastsUntilTheDeviceIsDone) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    t.step(i, 100 * i, 100 * i + 100);
    t.runtime("cudaLaunchKernel", 100 * i + 10, 100 * i + 20).correlation(i + 1);
    t.kernel("gemm", 1'000 * i + 30, 1'000 * i + 1'030).correlation(i + 1);
  }
  EXPECT_EQ(report(t.build()).measured_ns, 10'030'000);
}

// Two operators that repeat show what is steady, although the loop may be within a step.
TEST(Judgement, AShortLoopHasAStart) {
  OpTrace t;
  t.op("aten::rand", 0, 5'000);
  for (int i = 0; i < 100; ++i) {
    t.op("aten::linear", 5'000 + 100 * i, 5'060 + 100 * i);
    t.op("aten::relu", 5'060 + 100 * i, 5'100 + 100 * i);
  }
  const Report found = report(t.build());
  EXPECT_EQ(found.step_rule, StepRule::Repeated);
  EXPECT_EQ(found.start_ns, 5'000'000);
}

TEST(Judgement, TheRingOfAProgramHasNoStart) {
  OpTrace t;
  t.op("aten::rand", 0, 5'000);
  for (int i = 0; i < 100; ++i) t.op("aten::linear", 5'000 + 100 * i, 5'060 + 100 * i);
  t.builder().metadata().push_back({ProcessId(0), t.builder().intern("dump"),
                                    t.builder().intern(R"({"reason": "signal", "signal": 12})")});
  EXPECT_EQ(report(t.build()).start_ns, 0);
}

// 100 operators of 10 us, of which recording took 2 us each: halves of a scope of 167 ns.
TEST(Judgement, RecordingItselfIsNotTheProgram) {
  OpTrace t;
  t.builder().add_ledger(LedgerKind::EventCostPs, 167'000);
  t.builder().add_ledger(LedgerKind::EventsWritten, 100);
  t.step(1, 0, 1'000);
  for (int i = 0; i < 100; ++i) t.op("aten::add", 10 * i, 10 * i + 10);
  const Report found = report(t.build());
  EXPECT_NEAR(static_cast<double>(found.corrected_ns), 200'000, 2'000);
  EXPECT_NEAR(static_cast<double>(found.measured_ns), 800'000, 5'000);
}

// The main thread waits for gradients although their thread is busy for a small part of that time.
// What is saved before shortens the whole.
TEST(Judgement, GradientsAreWaitedForWhateverElseTheirThreadDoes) {
  OpTrace t;
  const TrackId gradients = t.thread(101);
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 10'000 * i;
    t.step(i, begin_us, begin_us + 10'000);
    t.annotation("load_batch", begin_us, begin_us + 4'000);
    t.op("aten::mm", begin_us + 4'000, begin_us + 5'000);
    t.span("autograd::engine::evaluate_function: MmBackward0", SpanKind::CpuOp, gradients,
           begin_us + 6'000, begin_us + 6'500);
    t.op("aten::_foreach_add_", begin_us + 9'000, begin_us + 10'000);
  }
  EXPECT_GT(saving(report(t.build()), "synchronized_data_loader"), 20'000'000) << "of 40 ms";
}

// A step that takes 9 ms more than the others, in a program that waits for its device in each.
TEST(Judgement, ASlowStepIsNotTheFaultOfTheWaitBeforeIt) {
  OpTrace t;
  Nanos at_us = 0;
  for (int i = 0; i < 16; ++i) {
    const Nanos begin_us = at_us;
    t.op("aten::mm", begin_us, begin_us + 20);
    t.runtime("cudaLaunchKernel", begin_us + 5, begin_us + 10).correlation(i + 1);
    t.kernel("gemm", begin_us + 15, begin_us + 1'000).correlation(i + 1);
    t.runtime("cudaDeviceSynchronize", begin_us + 30, begin_us + 1'002);
    const Nanos python_us = i == 7 ? 9'000 : 10;
    t.python("gc.py(3): collect", begin_us + 1'005, begin_us + 1'005 + python_us);
    at_us = begin_us + 1'010 + python_us;
    t.step(i, begin_us, at_us);
  }
  const Report found = report(t.build());
  EXPECT_EQ(found.findings.front().id, "outlier_steps");
  EXPECT_LE(saving(found, "stalling_synchronisation"), 1'000'000);
}

// The driver gives memory back after each wait: that is what the device waits for.
TEST(Judgement, MemoryFromTheDriverIsNotTheFaultOfTheWaitBeforeIt) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 2'000 * i;
    t.step(i, begin_us, begin_us + 2'000);
    t.runtime("cudaLaunchKernel", begin_us, begin_us + 5).correlation(i + 1);
    t.kernel("gemm", begin_us + 10, begin_us + 1'000).correlation(i + 1);
    t.runtime("cudaDeviceSynchronize", begin_us + 20, begin_us + 1'002);
    t.runtime("cudaFree", begin_us + 1'003, begin_us + 1'999);
  }
  const Report found = report(t.build());
  EXPECT_EQ(found.findings.front().id, "memory_from_driver");
  EXPECT_EQ(finding(found, "stalling_synchronisation"), nullptr);
}

// 100 us of computation and 300 us of communication a step: at least 300 us are left.
TEST(Judgement, CommunicationHidesBehindNoMoreComputationThanThereIs) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    t.kernel("gemm", 400 * i, 400 * i + 100);
    t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 400 * i + 100, 400 * i + 400);
  }
  const Nanos promised = saving(report(t.build()), "exposed_communication");
  EXPECT_GT(promised, 900'000);
  EXPECT_LE(promised, 1'010'000) << "of 3 ms";
}

OpTrace copies_out_and_in(MemoryKind in, bool collective, bool computes) {
  OpTrace t;
  const TrackId other = t.thread(101);
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 5'000 * i;
    const auto copy = [&](CopyKind kind, Nanos at_us, MemoryKind host) {
      const std::int64_t number = 2 * i + (kind == CopyKind::HtoD ? 2 : 1);
      t.runtime("cudaMemcpyAsync", at_us, at_us + 1'010).correlation(number);
      const auto span = t.span("Memcpy", SpanKind::GpuMemcpy, TrackId(1), at_us + 5, at_us + 1'005)
                            .correlation(number)
                            .span();
      const bool to_device = kind == CopyKind::HtoD;
      t.builder().copies().push_back({.span = span,
                                      .bytes = 16 << 20,
                                      .kind = kind,
                                      .source_kind = to_device ? host : MemoryKind::Device,
                                      .destination_kind = to_device ? MemoryKind::Device : host});
    };
    copy(CopyKind::DtoH, begin_us, MemoryKind::Pageable);
    if (collective)
      t.span("gloo:all_reduce", SpanKind::CpuOp, other, begin_us + 1'100, begin_us + 2'900);
    if (computes) t.op("aten::clamp", begin_us + 1'100, begin_us + 2'900);
    copy(CopyKind::HtoD, begin_us + 3'050, in);
  }
  return t;
}

TEST(Judgement, InputIsNotTheOutputThatWasCopiedBefore) {
  const auto came_back = [](MemoryKind in, bool collective, bool computes) {
    return finding(report(copies_out_and_in(in, collective, computes).build()),
                   "copies_there_and_back") != nullptr;
  };
  EXPECT_TRUE(came_back(MemoryKind::Pageable, false, true));
  EXPECT_FALSE(came_back(MemoryKind::Pinned, false, true)) << "other memory";
  EXPECT_FALSE(came_back(MemoryKind::Pageable, false, false)) << "nothing to do on the device";
  EXPECT_FALSE(came_back(MemoryKind::Pageable, true, false)) << "other ranks have it";
}

TEST(Judgement, TensorsOfADeviceThatGlooSendsAreToldOnce) {
  const Report found = report(copies_out_and_in(MemoryKind::Pageable, true, false).build());
  ASSERT_NE(finding(found, "waiting_for_ranks"), nullptr);
  EXPECT_THAT(finding(found, "waiting_for_ranks")->advice, HasSubstr("NCCL"));
}

// 1,000 operators, each with one inside, and a microsecond between all begins and ends: with one
// microsecond before the begin and one after the end, they cost 2,000 us each.
TEST(Judgement, AProfilerCostsNoMoreThanFitsBetweenOperators) {
  OpTrace t;
  t.flag("schemaVersion");
  for (int i = 0; i < 1'000; ++i) {
    t.op("aten::linear", 100 * i, 100 * i + 99);
    t.op("aten::addmm", 100 * i + 1, 100 * i + 98);
  }
  const Report found = report(t.build());
  EXPECT_NEAR(static_cast<double>(found.profiler_ns), 4'000'000, 50'000);
}

TEST(Judgement, AProfilerCannotHaveCostMoreThanThereWas) {
  OpTrace t;
  t.flag("schemaVersion");
  for (int i = 0; i < 10; ++i) t.op("aten::add", 6 * i, 6 * i + 5);
  const Report found = report(t.build());
  EXPECT_LT(found.profiler_ns, 60'000);
}

TEST(Judgement, PausesThatAGraphWouldHaveAreNoFinding) {
  OpTrace t;
  for (int i = 0; i < 100; ++i) {
    t.runtime("cudaLaunchKernel", 3 * i, 3 * i + 2).correlation(i + 1);
    t.kernel("gemm", 400 + 21 * i, 420 + 21 * i).correlation(i + 1);
  }
  EXPECT_EQ(finding(report(t.build()), "kernel_wait"), nullptr);
}

// A step of a sequence after the other: each needs the state of the one before.
TEST(Judgement, ARecurrentNetworkIsNoLoopOverElements) {
  OpTrace t;
  for (int i = 0; i < 40; ++i) {
    t.op("aten::select", 300 * i, 300 * i + 2)
        .tensor({16, 41})
        .scalar("1")
        .scalar(std::to_string(i));
    t.op("aten::embedding", 300 * i + 3, 300 * i + 10);
    t.op("aten::lstm_cell", 300 * i + 10, 300 * i + 290);
    t.op("aten::add", 300 * i + 291, 300 * i + 299);
  }
  EXPECT_EQ(finding(report(t.build()), "for_loop_indexing"), nullptr);
}

// A product of 200 us that asks about its inputs is work, as one is that asks nothing.
TEST(Judgement, OperatorsThatCallOthersMayComputeThemselves) {
  OpTrace t;
  for (int i = 0; i < 50; ++i) {
    t.op("aten::select", 300 * i, 300 * i + 2);
    t.op("aten::unsqueeze", 300 * i + 2, 300 * i + 4);
    t.op("aten::linear", 300 * i + 4, 300 * i + 254);
    t.op("aten::addmm", 300 * i + 14, 300 * i + 244);
    t.op("aten::expand", 300 * i + 20, 300 * i + 22);
    t.op("aten::resolve_conj", 300 * i + 230, 300 * i + 232);
  }
  EXPECT_LT(saving(report(t.build()), "for_loop_indexing"), 4'000'000) << "of 15 ms";
}

// An operator that compiles is compilation, and nothing that belongs on the device.
TEST(Judgement, CompilationIsToldOnce) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 5'000 * i;
    t.step(i, begin_us, begin_us + 5'000);
    t.op("_compile.compile_inner (dynamo_timed)", begin_us, begin_us + 4'000);
    t.runtime("cudaLaunchKernel", begin_us + 4'010, begin_us + 4'020).correlation(i + 1);
    t.kernel("k", begin_us + 4'030, begin_us + 4'990).correlation(i + 1);
  }
  const Report found = report(t.build());
  EXPECT_EQ(found.findings.front().id, "recompilation");
  EXPECT_EQ(finding(found, "host_computes"), nullptr);
  EXPECT_EQ(finding(found, "host_bound"), nullptr);
}

// Two evaluations among steps of two speeds: the evaluations are slow steps, the others are not.
TEST(Judgement, SlowStepsAreSeenAmongStepsOfTwoSpeeds) {
  OpTrace t;
  Nanos at_us = 0;
  for (int i = 0; i < 30; ++i) {
    const Nanos begin_us = at_us;
    at_us += i % 10 == 9 ? 9'000 : i < 12 ? 1'400 : 1'000 + i % 3;
    t.step(i, begin_us, at_us);
    t.op("aten::mm", begin_us, at_us);
  }
  const Report found = report(t.build());
  ASSERT_NE(finding(found, "outlier_steps"), nullptr);
  EXPECT_EQ(finding(found, "outlier_steps")->count, 3U);
  EXPECT_LE(found.warm_up_steps, 6U);
}

// It slept for 40 of 100 ms: in the 50 ms in which it waited for its loader.
TEST(Judgement, AThreadThatWaitedForDataDidNotSleepElsewhere) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin_us = 10'000 * i;
    t.step(i, begin_us, begin_us + 10'000);
    t.annotation("load_batch", begin_us, begin_us + 5'000);
    t.op("aten::mm", begin_us + 7'000, begin_us + 10'000);
  }
  schedule(t, R"({"cores": 2, "wall_ns": 100000000, "ran_ns": 60000000, "waited_ns": 0, )"
              R"("by_thread": {"100": [60000000, 0]}})");
  const Report found = report(t.build());
  ASSERT_NE(finding(found, "outside_operators"), nullptr);
  EXPECT_THAT(finding(found, "outside_operators")->detail, Not(HasSubstr("slept")));
}

// 100 steps with operators for 60 of each 100 us.
TEST(Judgement, TheVerdictSaysHowLongOperatorsRan) {
  OpTrace t;
  for (int i = 0; i < 100; ++i) {
    t.step(i, 100 * i, 100 * i + 100);
    t.op("aten::mm", 100 * i, 100 * i + 60);
  }
  EXPECT_THAT(report(t.build()).verdict, HasSubstr("Operators ran for 60.0 % of these steps"));
}

// A GAN: two steps of the discriminator for each of the generator.
TEST(Judgement, StepsOfOneOptimiserMayNotBeIterations) {
  OpTrace t;
  t.builder().metadata().push_back({ProcessId(0), t.builder().intern("steps_inferred_from"),
                                    t.builder().intern("Optimizer.step#RMSprop.step")});
  for (int i = 0; i < 20; ++i) {
    t.step(i, 1'000 * i, 1'000 * i + 1'000);
    t.op("aten::mm", 1'000 * i, 1'000 * i + 900);
    t.annotation("Optimizer.step#RMSprop.step", 1'000 * i + 900, 1'000 * i + 950);
    if (i % 2 == 1) t.annotation("Optimizer.step#Adam.step", 1'000 * i + 960, 1'000 * i + 990);
  }
  const Report found = report(t.build());
  EXPECT_EQ(found.other_optimisers, "Adam.step, 10 times");
}

TEST(Judgement, WhatIsDoneOnTheHostOnTheWayBackIsToldOnce) {
  const Report found = report(copies_out_and_in(MemoryKind::Pageable, false, true).build());
  EXPECT_EQ(found.findings.front().id, "copies_there_and_back");
  EXPECT_EQ(finding(found, "host_computes"), nullptr);
}

// 1 ms of computation and 5 ms in which other ranks are late.
TEST(Judgement, ADeviceThatWaitsForRanksDoesNotLimitTheProgram) {
  OpTrace t;
  for (int i = 0; i < 10; ++i) {
    t.kernel("gemm", 6'000 * i, 6'000 * i + 1'000);
    t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 6'000 * i + 1'000, 6'000 * i + 6'000);
  }
  EXPECT_THAT(report(t.build()).verdict, HasSubstr("waits for other ranks"));
}

}  // namespace
}  // namespace sonde
