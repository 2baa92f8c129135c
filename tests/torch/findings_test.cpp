// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs with one fault each: the first finding of the report names it. For the same program
// without the fault, the report does not have that finding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "sonde/analyse/report.h"
#include "sonde/profiler.h"
#include "sonde/torch.h"

namespace sonde {
namespace {

using ::testing::Contains;
using ::testing::Not;
namespace nn = ::torch::nn;
using ::torch::Tensor;

constexpr int kSteps = 3;  // too few for an outlier on a busy machine

std::vector<std::string> findings_of(const std::function<void()>& step) {
  sonde::torch::attach();
  Profiler prof({.record = {.record_shapes = true},
                 .schedule = schedule({.warmup = 1, .active = kSteps, .repeat = 1})});
  prof.start();
  for (int i = 0; i < 1 + kSteps; ++i) {
    step();
    prof.step();
  }
  prof.stop();
  const Result<Trace> trace = prof.trace();
  std::vector<std::string> ids;
  if (!trace) return ids;
  for (const Finding& finding : report(*trace).findings) ids.push_back(finding.id);
  return ids;
}

// Tries several recordings: if other processes take the processor away between two operators, the
// report rightly says that first.
std::vector<std::string> findings_with_first(const std::string& id,
                                             const std::function<void()>& step) {
  std::vector<std::string> found;
  for (int attempt = 0; attempt < 5; ++attempt) {
    found = findings_of(step);
    if (!found.empty() && found.front() == id) break;
  }
  return found;
}

void expect_first(const std::string& id, const std::function<void()>& faulty,
                  const std::function<void()>& clean) {
  const std::vector<std::string> found = findings_with_first(id, faulty);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), id) << ::testing::PrintToString(found);
  EXPECT_THAT(findings_of(clean), Not(Contains(id)));
}

// Work that is not an operator.
void compute_for(std::chrono::microseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) continue;
}

std::vector<Tensor> parameters(int count, int size) {
  std::vector<Tensor> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(::torch::ones({size, size}, ::torch::requires_grad()));
    all.back().mutable_grad() = ::torch::ones({size, size});
  }
  return all;
}

TEST(Findings, NameCopiesThatChangeNothing) {
  const Tensor x = ::torch::ones({512, 512});
  const auto step = [&x](bool copies) {
    Tensor y = x;
    for (int i = 0; i < 8; ++i) {
      if (copies) y = y.to(y.options(), /*non_blocking=*/false, /*copy=*/true);
    }
    y.sum();
  };
  expect_first("extra_copies", [&] { step(true); }, [&] { step(false); });
}

TEST(Findings, NameLoopsOverElements) {
  const Tensor x = ::torch::ones({200, 64});
  const auto loop = [&x] {
    Tensor sum = ::torch::zeros({64});
    for (int i = 0; i < 200; ++i) sum.add_(x.select(0, i).exp());
  };
  expect_first("for_loop_indexing", loop, [&x] { x.exp().sum(0); });
}

TEST(Findings, NameGradientsThatAreFilledWithZeros) {
  const std::vector<Tensor> all = parameters(40, 128);
  const auto step = [&all](bool zeros) {
    for (const Tensor& one : all) {
      if (zeros) one.grad().zero_();
    }
    all.front().detach().exp();
  };
  expect_first("gradient_not_set_to_none", [&] { step(true); }, [&] { step(false); });
}

TEST(Findings, NameDataThatStepsWaitFor) {
  const Tensor x = ::torch::ones({128, 128});
  const auto step = [&x](bool waits) {
    if (waits) {
      RECORD_USER_SCOPE("load_batch");
      compute_for(std::chrono::milliseconds(4));
    }
    x.mm(x);
  };
  expect_first("synchronized_data_loader", [&] { step(true); }, [&] { step(false); });
}

TEST(Findings, NameTimeOutsideOfOperators) {
  const Tensor x = ::torch::ones({64, 64});
  const auto step = [&x] {
    x.mm(x);
    compute_for(std::chrono::milliseconds(4));
  };
  const std::vector<std::string> found = findings_of(step);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), "outside_operators");
}

// One call for many parameters does the same work one by one on the host: nothing would be saved.
TEST(Findings, DoNotNameAnOptimiserThatRunsOnTheHost) {
  const std::vector<Tensor> all = parameters(40, 32);
  ::torch::optim::Adam adam(all, ::torch::optim::AdamOptions(0.001));
  EXPECT_THAT(findings_of([&] { adam.step(); }), Not(Contains("optimizer_single_tensor")));
}

// oneDNN adds it within the convolution, for next to nothing.
TEST(Findings, DoNotNameABiasThatCostsNothing) {
  nn::Conv2d conv(nn::Conv2dOptions(8, 16, 3).padding(1));
  nn::BatchNorm2d norm(16);
  const Tensor x = ::torch::ones({8, 8, 32, 32});
  EXPECT_THAT(findings_of([&] {
                const ::torch::NoGradGuard no_gradients;
                norm->forward(conv->forward(x));
              }),
              Not(Contains("conv2d_bias_batch_norm")));
}

// The host has no tensor cores.
TEST(Findings, DoNotNameSizesOfProductsOnTheHost) {
  const Tensor x = ::torch::ones({129, 129}, ::torch::kBFloat16);
  EXPECT_THAT(findings_of([&x] { x.mm(x); }), Not(Contains("matmul_dim_fp16")));
}

}  // namespace
}  // namespace sonde
