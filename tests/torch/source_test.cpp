// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a recording of a LibTorch program has that torch's own profiler in C++ does not show.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sonde/profiler.h"
#include "sonde/torch.h"

namespace sonde {
namespace {

TEST(TorchSource, ASecondProfilerThatWantsShapesGetsThem) {
  sonde::torch::attach();
  Profiler plain;
  Profiler shapes({.record = {.record_shapes = true}});
  plain.start();
  shapes.start();
  at::ones({2, 3}).relu();
  shapes.stop();
  plain.stop();
  bool found = false;
  for (const FunctionEvent event : shapes.events()) {
    found = found || (event.name() == "aten::relu" && event.input_shapes() == "[[2, 3]]");
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(plain.events().empty());
}

// full    [relu]            [relu]
// plain            [relu]
TEST(TorchSource, AProfilerKeepsItsWishesWhenAnotherRanInBetween) {
  sonde::torch::attach();
  Profiler full({.record = {.record_shapes = true, .profile_memory = true, .with_stack = true}});
  Profiler plain;
  for (Profiler* prof : {&full, &plain, &full}) {
    prof->start();
    at::ones({2, 3}).relu();
    prof->stop();
    const bool asked = prof == &full;
    for (const FunctionEvent event : prof->events()) {
      if (event.name() != "aten::relu") continue;
      EXPECT_EQ(event.input_shapes(), asked ? "[[2, 3]]" : "[]");
      EXPECT_EQ(event.stack().empty(), !asked);
      EXPECT_EQ(event.cpu_memory_bytes() > 0, asked);
    }
  }
}

TEST(TorchSource, TellsWhatEachPathCost) {
  sonde::torch::attach();
  Profiler prof({.record = {.record_shapes = true, .profile_memory = true, .with_stack = true}});
  prof.start();
  const at::Tensor weight = at::ones({4}).requires_grad_();
  for (int i = 0; i < 400; ++i) weight.add(weight).sum().backward();
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace);
  std::set<std::string> told;
  const LedgerTable& ledger = trace->ledger();
  for (std::size_t row = 0; row < ledger.size(); ++row) {
    const bool is_of_source = trace->string(ledger.source[row]) == "source";
    if (ledger.kind[row] != LedgerKind::EventCostPs || !is_of_source) continue;
    told.insert(std::string(trace->string(ledger.detail[row])));
    EXPECT_GT(ledger.count[row], 0U);
  }
  EXPECT_THAT(told,
              ::testing::ElementsAre("allocations and frees", "gradients", "inputs of operators",
                                     "operators", "stacks of operators"));
}

TEST(TorchSource, ACollectiveIsDescribed) {
  sonde::torch::attach();
  Profiler prof;
  prof.start();
  for (int call = 0; call < 2; ++call) {
    const auto info = std::make_shared<::torch::ParamCommsDebugInfo>(
        3, "allreduce", 64, 32, at::kFloat, std::vector<std::int64_t>(),
        std::vector<std::int64_t>({1, 2}));
    const c10::DebugInfoGuard tells(c10::DebugInfoKind::PARAM_COMMS_INFO, info);
    RECORD_FUNCTION(::torch::kParamCommsCallName, std::vector<c10::IValue>());
  }
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace);
  const CollectiveTable& rows = trace->collectives();
  ASSERT_EQ(rows.size(), 2U);
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(trace->name(rows.span[row]), "record_param_comms");
    EXPECT_EQ(trace->string(rows.name[row]), "allreduce");
    EXPECT_EQ(trace->string(rows.dtype[row]), "Float");
    EXPECT_EQ(rows.in_elements[row], 64);
    EXPECT_EQ(rows.out_elements[row], 32);
    EXPECT_EQ(trace->string(rows.in_split[row]), "[]");
    EXPECT_EQ(trace->string(rows.out_split[row]), "[1, 2]");
    EXPECT_EQ(rows.rank[row], 3);
    EXPECT_EQ(rows.group_size[row], -1);
  }
}

// PyTorch's trace has 0 for all of them unless an execution trace or NVTX is also on.
TEST(TorchSource, EveryOperatorHasARecordFunctionIdOfItsOwn) {
  sonde::torch::attach();
  Profiler prof;
  prof.start();
  for (int i = 0; i < 100; ++i) at::ones({2, 3}).relu();
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace);
  std::set<std::int64_t> ids;
  std::size_t operators = 0;
  for (const SpanId span : trace->all_spans()) {
    if (trace->spans().kind[span] != SpanKind::CpuOp) continue;
    ++operators;
    ids.insert(trace->spans().record_function_id[span]);
  }
  EXPECT_GE(operators, 200u);
  EXPECT_EQ(ids.size(), operators);
  EXPECT_GT(*ids.begin(), 0);
}

TEST(TorchSource, ScalarsAndListsAreWrittenAsTorchWritesThem) {
  sonde::torch::attach();
  Profiler prof({.record = {.record_shapes = true}});
  prof.start();
  at::ones({2, 3}).add(at::ones({3}), 0.5).sum(c10::IntArrayRef({0, 1}), true);
  prof.stop();
  const Result<Trace> trace = prof.trace();
  ASSERT_TRUE(trace);
  std::vector<std::string> values;
  for (const SpanId span : trace->all_spans()) {
    if (trace->name(span) != "aten::add" && trace->name(span) != "aten::sum") continue;
    for (const OpArgumentId id : trace->arguments(span)) {
      const OpArgumentTable& arguments = trace->op_arguments();
      const std::string type(trace->string(arguments.dtype[id]));
      values.push_back(type + std::string(trace->string(arguments.value[id])));
    }
  }
  EXPECT_THAT(values,
              ::testing::ElementsAre("float", "float", "0.5", "float", "[0, 1]", "True", ""));
}

}  // namespace
}  // namespace sonde
