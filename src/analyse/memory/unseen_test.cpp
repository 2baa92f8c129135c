// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors that existed all the time, in traces that have shapes but do not name tensors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "analyse/testing/memory_trace.h"
#include "sonde/analyse/memory.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MemoryTrace;

// The blocks that existed before and stayed, such as "parameter 400".
std::vector<std::string> stayed(MemoryTrace& t) {
  const MemoryProfile profile = memory_profile(t.build());
  EXPECT_FALSE(profile.has_tensors);
  std::vector<std::string> all;
  for (const DeviceMemory& device : profile.devices) {
    for (const MemoryEvent& event : device.events) {
      const MemoryBlock block = device.blocks[event.block];
      if (event.action != MemoryAction::Preexisting || block.death.valid()) continue;
      all.push_back(std::string(to_string(event.to)) + " " + std::to_string(block.bytes));
    }
  }
  return all;
}

// One training step from `at` on: gradients of parameters with 100 and 300 floats, then the
// optimiser.
//
//   forward  backward  AccumulateGrad x 2  Optimizer.step#…
//   0  10    20    30  30      40          50            60
void optimised_step(MemoryTrace& t, Nanos at, std::string_view optimizer) {
  t.op("aten::mm", at, at + 10);
  t.alloc(at + 1, 0x1000, 4096);
  t.backward("MmBackward0", at + 20, at + 30);
  t.ops()
      .op("torch::autograd::AccumulateGrad", at + 31, at + 33)
      .scope(RecordScope::BackwardFunction)
      .tensor({100}, "float");
  t.ops()
      .op("torch::autograd::AccumulateGrad", at + 34, at + 36)
      .scope(RecordScope::BackwardFunction)
      .tensor({3, 100}, "float");
  t.free(at + 40, 0x1000, 4096);
  t.ops().annotation("Optimizer.step#" + std::string(optimizer) + ".step", at + 50, at + 60);
}

TEST(UnseenTensors, AreParametersWhoseGradientsAccumulate) {
  MemoryTrace t;
  optimised_step(t, 0, "Mine");  // nothing is known about its state
  optimised_step(t, 100, "Mine");
  EXPECT_THAT(stayed(t), ElementsAre("parameter 400", "parameter 1200"));
}

TEST(UnseenTensors, AreStateThatAnOptimizerIsKnownToKeep) {
  MemoryTrace t;
  optimised_step(t, 0, "Adagrad");
  EXPECT_THAT(stayed(t), ElementsAre("parameter 400", "parameter 1200", "optimizer_state 400",
                                     "optimizer_state 1200"));
}

TEST(UnseenTensors, AreOneMoreWhereTheOptimizerCallsWhatOnlyThatNeeds) {
  MemoryTrace without;
  optimised_step(without, 0, "SGD");
  EXPECT_THAT(stayed(without), ElementsAre("parameter 400", "parameter 1200"));
  MemoryTrace with_momentum;
  optimised_step(with_momentum, 0, "SGD");
  with_momentum.op("aten::_foreach_mul_", 52, 53);
  EXPECT_THAT(stayed(with_momentum), ElementsAre("parameter 400", "parameter 1200",
                                                 "optimizer_state 400", "optimizer_state 1200"));
}

// It is unknown which parameters belong to which, so the optimiser that keeps less counts for all.
TEST(UnseenTensors, AreNoMoreThanTheLeastOfTwoOptimizersKeeps) {
  MemoryTrace t;
  optimised_step(t, 0, "Adagrad");
  optimised_step(t, 100, "AdamW");
  EXPECT_THAT(stayed(t), ElementsAre("parameter 400", "parameter 1200", "optimizer_state 400",
                                     "optimizer_state 1200"));
}

TEST(UnseenTensors, AreNoneWhereBlocksOfTheirSizeWereSeen) {
  MemoryTrace t;
  t.alloc(-20, 0x1, 512);   // the allocator rounds 400 up to this
  t.alloc(-19, 0x2, 1536);  // and 1200
  optimised_step(t, 0, "Adagrad");
  t.alloc(51, 0x3, 512);  // the optimiser's first step makes its state
  t.alloc(52, 0x4, 1536);
  optimised_step(t, 100, "Adagrad");
  EXPECT_THAT(stayed(t), IsEmpty());
}

TEST(UnseenTensors, AreInputsWhereNothingAliveCouldHoldThem) {
  MemoryTrace t;
  t.ops().op("aten::embedding", 0, 10).tensor({8, 128}, "long int");
  t.alloc(1, 0x1, 4096);
  t.ops().op("aten::embedding", 20, 30).tensor({8, 128}, "long int");  // the same again
  t.alloc(21, 0x2, 16384);
  t.ops().op("aten::relu", 40, 50).tensor({4000}, "float");  // may be in the last block
  t.alloc(41, 0x3, 512);
  EXPECT_THAT(stayed(t), ElementsAre("input 8192"));
}

TEST(UnseenTensors, AreNotLargerThanAnyMemory) {
  MemoryTrace t;
  for (int i = 0; i < 9; ++i) {
    t.ops().op("aten::relu", 10 * i, 10 * i + 5).tensor({std::int64_t{1} << 58, i + 1}, "char");
    t.alloc(10 * i + 1, 0x1, 512);
    t.free(10 * i + 2, 0x1, 512);
  }
  EXPECT_THAT(stayed(t), ElementsAre("input 288230376151711744", "input 576460752303423488",
                                     "input 864691128455135232"));
}

TEST(UnseenTensors, AreNotWhatIsBroughtFromElsewhere) {
  MemoryTrace t;
  t.ops().op("aten::to", 0, 10).tensor({8, 128}, "long int");
  t.alloc(1, 0x1, 8192);
  t.ops().op("aten::relu", 20, 30).tensor({8, 128}, "long int");  // allocates nothing
  EXPECT_THAT(stayed(t), IsEmpty());
}

}  // namespace
}  // namespace sonde
