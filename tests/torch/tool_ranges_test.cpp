// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// LibTorch's operators as ranges in an NVTX tool, named by PyTorch's rules.

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/profiler/api.h>

#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "sonde/profile/ranges.h"
#include "sonde/record.h"
#include "sonde/torch.h"
#include "trace/testing/temp_dir.h"

namespace sonde::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

// What the fake tool sees while `body` runs.
template <typename Emit = emit_nvtx, typename Body>
std::vector<std::string> told_of(bool record_shapes, Body&& body) {
  const TempDir dir;
  ::setenv("NVTX_INJECTION64_PATH", NVTX_COLLECTOR, 1);
  ::setenv("INTEL_LIBITTNOTIFY64", ITT_COLLECTOR, 1);
  ::setenv("COLLECTED", dir.file("collected").c_str(), 1);
  sonde::torch::attach();
  {
    const Emit emit(true, record_shapes);
    EXPECT_TRUE(emit.is_heard());
    body();
  }
  at::ones({1});
  std::istringstream text(read_file(dir.file("collected")).value_or(""));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// The groups of the first line that matches `pattern`; empty if none does.
std::vector<std::string> match(const std::vector<std::string>& lines, const std::string& pattern) {
  for (const std::string& line : lines) {
    std::smatch found;
    if (std::regex_match(line, found, std::regex(pattern))) return {found.begin() + 1, found.end()};
  }
  return {};
}

namespace theirs = ::torch::autograd::profiler;
namespace impl = ::torch::profiler::impl;

// Replaces the CUDA part of torch's profiler, and so receives the names of PyTorch's emit_nvtx.
class TorchsNvtx : public impl::ProfilerStubs {
 public:
  // Torch keeps it for good. It is on only while `body` runs.
  template <typename Body>
  static std::vector<std::string> told_of(bool record_shapes, Body&& body) {
    static auto* const only = new TorchsNvtx;
    only->pushed_.clear();
    only->is_on_ = true;
    impl::registerCUDAMethods(only);
    theirs::enableProfiler(impl::ProfilerConfig(impl::ProfilerState::NVTX, record_shapes), {});
    body();
    theirs::disableProfiler();
    only->is_on_ = false;
    return only->pushed_;
  }

  void record(int* /*device*/, impl::ProfilerEventStub* /*event*/,
              std::int64_t* /*cpu_ns*/) const override {}
  float elapsed(const impl::ProfilerEventStub* /*from*/,
                const impl::ProfilerEventStub* /*to*/) const override {
    return 0;
  }
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* name) const override {
    pushed_.push_back(std::string("push ") + name);
  }
  void rangePop() const override { pushed_.push_back("pop"); }
  bool enabled() const override { return is_on_; }
  void onEachDevice(std::function<void(int)> /*visit*/) const override {}
  void synchronize() const override {}

 private:
  bool is_on_ = false;
  mutable std::vector<std::string> pushed_;
};

void train() {
  RECORD_USER_SCOPE("step");
  const at::Tensor weight = at::ones({4, 4}).requires_grad_();
  at::Tensor x = at::ones({2, 4});
  for (int layer = 0; layer < 3; ++layer) x = at::relu(x.mm(weight) + 0.5);
  const std::vector<at::Tensor> parts = x.split(2, 1);
  x = at::cat({parts[1], parts[0], x}, 1);
  at::layer_norm(x, {8}).pow(2).mean().backward();
}

TEST(ToolRanges, AreWhatPyTorchSaysToo) {
  for (const bool record_shapes : {false, true}) {
    std::vector<std::string> torchs;
    const auto ours =
        told_of(record_shapes, [&] { torchs = TorchsNvtx::told_of(record_shapes, train); });
    EXPECT_GT(ours.size(), 100u);
    EXPECT_EQ(ours, torchs);
  }
}

TEST(ToolRanges, OfOperatorsSayTheirSequenceNumberAndId) {
  const at::Tensor a = at::ones({10, 20}).requires_grad_();
  const auto lines = told_of(false, [&] { a.mm(at::ones({20, 30})).sum().backward(); });
  const auto forward = match(lines, "push aten::mm, seq = (\\d+), op_id = (\\d+)");
  const auto backward = match(lines, "push MmBackward0, seq = (\\d+), op_id = (\\d+)");
  ASSERT_EQ(forward.size(), 2u);
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(forward[0], backward[0]);
  EXPECT_LT(std::stoi(forward[1]), std::stoi(backward[1]));
  // Operators without a gradient have no sequence number.
  EXPECT_EQ(match(lines, "push aten::empty, op_id = (\\d+)").size(), 1u);
}

TEST(ToolRanges, ArePushedAndPoppedInTurn) {
  const at::Tensor a = at::ones({3}).requires_grad_();
  const auto lines = told_of(true, [&] {
    SONDE_SCOPE("around");
    a.relu().sum().backward();
  });
  EXPECT_EQ(lines.front(), "push around");
  int depth = 0;
  for (const std::string& line : lines) {
    depth += line == "pop" ? -1 : 1;
    EXPECT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
}

TEST(ToolRanges, SayTheSizesOfInputsAndWhoMadeThem) {
  const at::Tensor a = at::ones({10, 20}).requires_grad_();
  const at::Tensor b = at::ones({20, 30});
  const auto lines = told_of(true, [&] { a.mm(b).sum(); });
  const auto mm = match(lines,
                        "push aten::mm, seq = \\d+, op_id = (\\d+), sizes = \\[\\[10, 20\\], "
                        "\\[20, 30\\]\\], input_op_ids = \\[\\(0,-1\\), \\(0,-1\\)\\]");
  ASSERT_EQ(mm.size(), 1u);
  const auto sum = match(lines,
                         "push aten::sum, seq = \\d+, op_id = \\d+, sizes = \\[\\[10, 30\\], "
                         "\\[\\]\\], input_op_ids = \\[\\((\\d+),0\\), \\(0,-1\\)\\]");
  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(sum[0], mm[0]);
}

TEST(ToolRanges, ListTheTensorsOfListsAmongTheRest) {
  const at::Tensor a = at::ones({2, 3});
  const at::Tensor b = at::ones({4, 3});
  const auto lines = told_of(true, [&] { at::cat({a, b}); });
  EXPECT_EQ(match(lines,
                  "push aten::cat(?:, seq = \\d+)?, op_id = (\\d+), sizes = \\[\\[2, 3\\], \\[4, "
                  "3\\], \\[\\]\\], "
                  "input_op_ids = \\[\\(0,-1\\), \\(0,-1\\), \\(0,-1\\)\\]")
                .size(),
            1u);
}

TEST(ToolRanges, OfUserScopesHaveTheirName) {
  const auto lines = told_of(false, [] {
    RECORD_USER_SCOPE("step");
    at::ones({1});
  });
  EXPECT_EQ(match(lines, "push step, op_id = (\\d+)").size(), 1u);
}

TEST(ToolRanges, OfIttHavePlainNames) {
  const at::Tensor a = at::ones({10, 20}).requires_grad_();
  const auto lines = told_of<emit_itt>(true, [&] { a.mm(at::ones({20, 30})).sum().backward(); });
  EXPECT_THAT(lines, Contains("PyTorch aten::mm"));
  EXPECT_THAT(lines, Contains("PyTorch MmBackward0"));
}

// The part of torch::nn::Module that ModuleScope needs.
struct NamedModule {
  struct Child {
    const std::string& key() const { return name; }
    const std::shared_ptr<NamedModule>& value() const { return module; }
    std::string name;
    std::shared_ptr<NamedModule> module;
  };
  std::string name() const { return "Net"; }
  std::vector<Child> named_children() const { return children; }
  std::vector<Child> named_modules(const std::string&, bool) const { return children; }
  std::vector<Child> children;
};

TEST(ToolRanges, OfModulesHaveTheirPath) {
  const NamedModule net{{{"fc", std::make_shared<NamedModule>()}}};
  const auto lines = told_of(false, [&] {
    const sonde::torch::ModuleScope outer(net);
    const sonde::torch::ModuleScope inner(*net.children[0].module);
  });
  EXPECT_THAT(lines, ElementsAre("push nn.Module: Net", "push nn.Module: Net.fc", "pop", "pop"));
}

TEST(ToolRanges, EndWithTheBlock) {
  const auto lines = told_of(false, [] {});
  EXPECT_THAT(lines, Not(Contains(StartsWith("push"))));
}

}  // namespace
}  // namespace sonde::testing
