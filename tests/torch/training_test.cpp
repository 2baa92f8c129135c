// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Training under both profilers: forward, backward and an optimiser step of a small residual
// network.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "both_profilers.h"
#include "sonde/analyse/memory.h"

// Not in namespace sonde, where the `torch` of TORCH_MODULE would be sonde::torch.
namespace residual {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(int from, int to, int stride) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, 3).stride(stride).padding(1).bias(false));
}

struct BlockImpl : nn::Module {
  BlockImpl(int from, int to)
      : body(conv(from, to, 2), nn::BatchNorm2d(to), nn::ReLU(), conv(to, to, 1),
             nn::BatchNorm2d(to)),
        shortcut(conv(from, to, 2), nn::BatchNorm2d(to)) {
    register_module("body", body);
    register_module("shortcut", shortcut);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::relu(body->forward(x) + shortcut->forward(x));
  }
  nn::Sequential body;
  nn::Sequential shortcut;
};
TORCH_MODULE(Block);

nn::Sequential net() {
  return nn::Sequential(conv(3, 8, 1), nn::BatchNorm2d(8), nn::ReLU(),
                        nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)), Block(8, 8),
                        Block(8, 16), nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions(1)),
                        nn::Flatten(), nn::Linear(16, 10));
}

}  // namespace
}  // namespace residual

namespace sonde::testing {
namespace {

class Training : public ::testing::Test {
 protected:
  void step() {
    RECORD_USER_SCOPE("step");
    const auto images = ::torch::randn({2, 3, 16, 16});
    const auto labels = ::torch::randint(0, 10, {2});
    optimizer_.zero_grad();
    ::torch::nn::functional::cross_entropy(net_->forward(images), labels).backward();
    optimizer_.step();
  }
  ::torch::nn::Sequential net_ = residual::net();
  ::torch::optim::SGD optimizer_{net_->parameters(),
                                 ::torch::optim::SGDOptions(0.01).momentum(0.9)};
};

TEST_F(Training, OfAResidualNetHasTheSameOperators) {
  step();
  const Both both = profile([&] { step(); });
  ASSERT_GT(both.torchs.ops.size(), 200u);
  EXPECT_EQ(differences(both), "");
}

TEST_F(Training, TiesEveryGradientToItsOperator) {
  step();
  const Both both = profile([&] { step(); });
  std::map<std::int64_t, int> forward;
  int backward = 0;
  const SpanTable& spans = both.trace.spans();
  for (const SpanId span : both.trace.all_spans()) {
    const std::int64_t sequence = spans.sequence_number[span];
    if (sequence < 0) continue;
    if (spans.scope[span] == RecordScope::Function) ++forward[sequence];
    if (spans.scope[span] != RecordScope::BackwardFunction) continue;
    ++backward;
    EXPECT_GT(forward[sequence], 0) << both.trace.name(span);
  }
  EXPECT_GT(backward, 20);
}

TEST_F(Training, HoldsItsMemoryByCategory) {
  step();
  std::int64_t bytes = 0;
  for (const ::torch::Tensor& parameter : net_->parameters())
    bytes += parameter.numel() * parameter.element_size();
  const Both both = profile([&] {
    step();
    step();
  });
  const MemoryProfile memory = memory_profile(both.trace);
  ASSERT_TRUE(memory.has_tensors);
  const Result<const DeviceMemory*> device = memory.find("cpu");
  ASSERT_TRUE(device);
  const auto at_peak = [&](MemoryCategory category) {
    return (*device)->peak.by_category[static_cast<std::size_t>(category)];
  };
  EXPECT_EQ(at_peak(MemoryCategory::Parameter), bytes);
  EXPECT_EQ(at_peak(MemoryCategory::OptimizerState), bytes) << "a momentum for each parameter";
  EXPECT_EQ(at_peak(MemoryCategory::Gradient), bytes) << "which zero_grad() keeps";
  EXPECT_GT(at_peak(MemoryCategory::Activation), 0);
  EXPECT_GE(at_peak(MemoryCategory::Input), 2 * 3 * 16 * 16 * 4);
}

}  // namespace
}  // namespace sonde::testing
