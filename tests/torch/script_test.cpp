// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// TorchScript under both profilers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/jit.h>
#include <torch/script.h>

#include "both_profilers.h"

namespace sonde::testing {
namespace {

TEST(Script, AFunctionWithALoopAndABranchHasTheSameOperators) {
  const auto unit = ::torch::jit::compile(R"(
def halve(x):
    return x * 0.5

def shrink(x, times: int):
    for i in range(times):
        if bool(x.sum() > 1.0):
            x = torch.mm(halve(x), x)
        else:
            x = torch.relu(x)
    return x
)");
  const auto run = [&] { unit->run_method("shrink", at::ones({4, 4}), 3); };
  for (int i = 0; i < 3; ++i) run();  // until it is optimised
  const Both both = profile(run);
  EXPECT_EQ(differences(both), "");
  EXPECT_THAT(both.ours.counts, ::testing::Contains(::testing::Key("shrink")));
  EXPECT_EQ(both.ours.counts.at("aten::mm"), 3u);
}

TEST(Script, AModuleThatIsTrainedHasTheSameOperators) {
  ::torch::jit::Module net("Net");
  net.register_parameter("weight", ::torch::ones({3, 4}).requires_grad_(true), false);
  net.define(R"(
def scaled(self, x):
    return torch.mm(x, self.weight.t()) * 0.1

def forward(self, x):
    return torch.relu(self.scaled(x)).sum()
)");
  const auto step = [&] { net.forward({at::ones({2, 4})}).toTensor().backward(); };
  for (int i = 0; i < 3; ++i) step();
  const Both both = profile(step);
  EXPECT_EQ(differences(both), "");
  EXPECT_THAT(both.ours.counts, ::testing::Contains(::testing::Key("forward")));
}

}  // namespace
}  // namespace sonde::testing
