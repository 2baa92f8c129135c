// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where operators were called from and which module they belong to: native stacks, modules of
// torch::nn, and TorchScript's stacks and modules.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "sonde/profiler.h"
#include "sonde/torch.h"

namespace networks {

struct BlockImpl : torch::nn::Module {
  BlockImpl() { linear = register_module("linear", torch::nn::Linear(4, 4)); }
  torch::Tensor forward(const torch::Tensor& x) {
    const sonde::torch::ModuleScope scope(*this);
    return torch::relu(linear(x));
  }
  torch::nn::Linear linear{nullptr};
};
TORCH_MODULE(Block);

struct NetImpl : torch::nn::Module {
  NetImpl() {
    layers = register_module("layers", torch::nn::Sequential(Block(), Block()));
    last = register_module("last", Block());
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const sonde::torch::ModuleScope scope(*this);
    return last(layers->forward(x)).sum();
  }
  torch::nn::Sequential layers{nullptr};
  Block last{nullptr};
};

}  // namespace networks

namespace sonde {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

EventList recorded(const std::function<void()>& program) {
  torch::attach();
  Profiler profiler({.record = {.with_stack = true, .with_modules = true}});
  profiler.start();
  program();
  profiler.stop();
  return profiler.events();
}

// The module of a span, "Net.layers.0"; "" if it belongs to none.
std::string module_of(const Trace& trace, SpanId span) {
  std::string path;
  for (ModuleId at = trace.spans().module[span]; at.valid(); at = trace.modules().parent[at]) {
    const std::string name(trace.string(trace.modules().name[at]));
    path = path.empty() ? name : name + "." + path;
  }
  return path;
}

std::vector<std::string> modules_of(const Trace& trace, std::string_view name) {
  std::vector<std::string> modules;
  for (const SpanId span : trace.all_spans()) {
    if (trace.name(span) == name) modules.push_back(module_of(trace, span));
  }
  return modules;
}

std::vector<std::string> stack_of(const EventList& events, std::string_view name) {
  for (const FunctionEvent event : events) {
    if (event.name() == name) return event.stack();
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(ModuleScopes, NameModulesByTheirPlaceInTheNetwork) {
  networks::NetImpl net;
  const EventList events = recorded([&] { net.forward(::torch::ones({2, 4})).backward(); });
  const Trace& trace = events.trace();
  EXPECT_THAT(modules_of(trace, "aten::relu"),
              ElementsAre("Net.layers.0", "Net.layers.1", "Net.last"));
  EXPECT_THAT(modules_of(trace, "aten::sum").front(), "Net");
  EXPECT_EQ(modules_of(trace, "nn.Module: Net.layers.1").size(), 1u);
}

TEST(ModuleScopes, GradientsBelongToTheModuleOfTheirOperator) {
  networks::NetImpl net;
  const EventList events = recorded([&] { net.forward(::torch::ones({2, 4})).backward(); });
  EXPECT_THAT(modules_of(events.trace(), "ReluBackward0"),
              ElementsAre("Net.last", "Net.layers.1", "Net.layers.0"));
}

__attribute__((noinline)) ::torch::Tensor multiply_here(const ::torch::Tensor& a) {
  return ::torch::mm(a, a) + 1;
}

TEST(NativeStacks, BeginWhereTheProgramCalledTheOperator) {
  const auto a = ::torch::ones({2, 2});
  const EventList events = recorded([&] { multiply_here(a); });
  const std::vector<std::string> stack = stack_of(events, "aten::mm");
  ASSERT_GE(stack.size(), 3u);
#if SONDE_HAS_LIBDW
  EXPECT_THAT(stack.front(), HasSubstr("at::mm"));  // inlined from torch's header
  EXPECT_THAT(stack[1],
              AllOf(HasSubstr("places_test.cpp("), HasSubstr("multiply_here(at::Tensor const&)")));
  EXPECT_THAT(stack.back(), HasSubstr("_start"));
#else
  EXPECT_THAT(stack.front(), HasSubstr("torch_test+0x"));
#endif
}

TEST(NativeStacks, OfGradientsAreThoseOfTheirOperators) {
  const auto a = ::torch::ones({2, 2}, ::torch::requires_grad());
  const EventList events = recorded([&] { multiply_here(a).sum().backward(); });
  EXPECT_EQ(stack_of(events, "MmBackward0"), stack_of(events, "aten::mm"));
}

TEST(ScriptStacks, NameTheScriptsFunctions) {
  const auto unit = ::torch::jit::compile("def twice(x):\n    return torch.relu(x) + x\n");
  const EventList events = recorded([&] { unit->run_method("twice", ::torch::ones({2})); });
  EXPECT_THAT(stack_of(events, "aten::relu"),
              ElementsAre(AllOf(HasSubstr("(2): "), HasSubstr("twice"))));
}

TEST(ScriptStacks, StayWithTheirOperatorsAfterGradientsOnTheSameThread) {
  const auto before = ::torch::jit::compile("def before(x):\n    return torch.relu(x) + x\n");
  const auto after = ::torch::jit::compile("def after(x):\n    return torch.sigmoid(x) + x\n");
  const EventList events = recorded([&] {
    const auto x = ::torch::ones({2}).requires_grad_();
    before->run_method("before", x).toTensor().sum().backward();
    after->run_method("after", ::torch::ones({2}));
    ::torch::ones({2}).neg();
  });
  EXPECT_THAT(stack_of(events, "aten::relu"), ElementsAre(HasSubstr("before")));
  EXPECT_THAT(stack_of(events, "aten::sigmoid"), ElementsAre(HasSubstr("after")));
  EXPECT_THAT(stack_of(events, "aten::neg"), ::testing::Not(Contains(HasSubstr("after"))));
}

TEST(ScriptModules, AreThoseOfTheScript) {
  ::torch::jit::Module inner("Inner");
  inner.define("def forward(self, x):\n    return torch.relu(x)\n");
  ::torch::jit::Module outer("Outer");
  outer.register_module("inner", inner);
  outer.define("def forward(self, x):\n    return self.inner.forward(x) + x\n");
  const EventList events = recorded([&] { outer.forward({::torch::ones({2})}); });
  EXPECT_THAT(modules_of(events.trace(), "aten::relu"), ElementsAre(HasSubstr("inner")));
}

}  // namespace
}  // namespace sonde
