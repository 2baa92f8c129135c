// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Inference without gradients under both profilers: several threads, and an operator that throws.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>

#include "both_profilers.h"

namespace sonde::testing {
namespace {

constexpr int kThreads = 4;
constexpr int kBatches = 10;

at::Tensor infer(const at::Tensor& x, const at::Tensor& weight) {
  const at::NoGradGuard no_grad;
  return at::softmax(at::relu(at::mm(x, weight)), 1);
}

std::size_t threads_with_operators(const Trace& trace) {
  std::set<std::uint32_t> tracks;
  for (const SpanId span : trace.all_spans()) {
    if (trace.spans().scope[span] != RecordScope::None)
      tracks.insert(trace.spans().track[span].value());
  }
  return tracks.size();
}

TEST(Inference, OnTheCallingThreadHasTheSameOperators) {
  const at::Tensor weight = at::ones({8, 4}).requires_grad_(true);
  const Both both = profile([&] {
    const at::Tensor x = at::ones({2, 4});
    infer(at::cat({x, x}, 1), weight);
  });
  EXPECT_EQ(differences(both), "");
  EXPECT_EQ(both.ours.counts.at("aten::softmax"), 1u);
}

TEST(Inference, OnThreadsOfTheProgramIsSeenByUsAlone) {
  const at::Tensor weight = at::ones({8, 4});
  const Both both = profile([&] {
    std::vector<std::thread> workers;
    for (int i = 0; i < kThreads; ++i) {
      workers.emplace_back([&] {
        for (int batch = 0; batch < kBatches; ++batch) infer(at::ones({2, 8}), weight);
      });
    }
    for (std::thread& worker : workers) worker.join();
  });
  EXPECT_TRUE(both.torchs.ops.empty());
  EXPECT_TRUE(both.torchs.bytes.empty());
  EXPECT_EQ(threads_with_operators(both.trace), std::size_t{kThreads});
  EXPECT_EQ(both.ours.counts.at("aten::mm"), std::uint64_t{kThreads * kBatches});
  EXPECT_EQ(std::count(both.ours.bytes.begin(), both.ours.bytes.end(), 64),
            kThreads * kBatches)  // each input is two times eight floats
      << both.ours.bytes.size() << " allocations and frees";
}

TEST(Inference, OnThreadsOfTorchIsSeenByBoth) {
  const at::Tensor weight = at::ones({8, 4});
  const Both both = profile([&] {
    std::promise<void> done;
    at::launch([&] {
      infer(at::ones({2, 8}), weight);
      done.set_value();
    });
    done.get_future().wait();
  });
  EXPECT_EQ(difference(both.ours.ops, both.torchs.ops), "");
  EXPECT_EQ(both.ours.counts, both.torchs.counts);
  EXPECT_EQ(both.ours.counts.at("aten::mm"), 1u);
}

TEST(Inference, AnOperatorThatThrowsIsEnded) {
  const Both both = profile([] {
    EXPECT_THROW(at::mm(at::ones({2, 3}), at::ones({2, 3})), c10::Error);
    at::relu(at::ones({1}));
  });
  EXPECT_EQ(difference(both.ours.ops, both.torchs.ops), "");
  EXPECT_EQ(difference(both.ours.tree, both.torchs.tree), "");
  for (const SpanId span : both.trace.all_spans()) {
    EXPECT_EQ(both.trace.spans().flags[span] & SpanFlags::kUnfinished, 0);
  }
}

}  // namespace
}  // namespace sonde::testing
