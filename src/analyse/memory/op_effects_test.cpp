// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/memory/op_effects.h"

#include <gtest/gtest.h>

#include "analyse/testing/op_trace.h"

namespace sonde::detail {
namespace {

OpEffects::Effect effect_of(std::string_view name, std::string_view overload = "") {
  testing::OpTrace t;
  t.op(name, 0, 1).tensor({1}).tensor({1}).tensor({1}).overload(overload);
  const Trace trace = t.build();
  return OpEffects(trace).of(SpanId(0));
}

TEST(OpEffects, KnowsCallsOfALibraryByTheirNames) {
  for (const char* call : {"aten::add", "c10d::allreduce_", "torchvision::nms"})
    EXPECT_TRUE(is_library_call(call)) << call;
  for (const char* other :
       {"AddmmBackward0", "torch::autograd::AccumulateGrad", "detach", "Optimizer.step#SGD.step",
        "autograd::engine::evaluate_function: AddmmBackward0", "my scope::x y", "::", ""})
    EXPECT_FALSE(is_library_call(other)) << other;
}

TEST(OpEffects, TellsWhatIsWrittenToFromTheName) {
  EXPECT_FALSE(effect_of("aten::add").writes(0));
  EXPECT_TRUE(effect_of("aten::add_").writes(0));
  EXPECT_FALSE(effect_of("aten::add_").writes(1));
  EXPECT_FALSE(effect_of("aten::__and__").writes(0));
  EXPECT_TRUE(effect_of("aten::_fused_adamw_").writes(3));
  EXPECT_TRUE(effect_of("aten::_native_batch_norm_legit").writes(4));
}

TEST(OpEffects, TakesTheLastArgumentForTheResultOfAnOutOverload) {
  EXPECT_TRUE(effect_of("aten::mm", "out").writes(2));
  EXPECT_FALSE(effect_of("aten::mm", "out").writes(0));
  EXPECT_FALSE(effect_of("aten::mm").writes(2));
}

TEST(OpEffects, KnowsNothingOfOthers) {
  EXPECT_FALSE(effect_of("AddmmBackward0").known);
}

}  // namespace
}  // namespace sonde::detail
