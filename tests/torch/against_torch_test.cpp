// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A LibTorch program under torch's own profiler and under Sonde at once: the same operators in the
// same order, with the same nesting, inputs and numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/torch.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sonde/profiler.h"
#include "sonde/torch.h"

namespace sonde {
namespace {

namespace theirs = ::torch::autograd::profiler;
namespace impl = ::torch::profiler::impl;

struct Net : ::torch::nn::Module {
  Net() {
    conv = register_module("conv", ::torch::nn::Conv2d(3, 8, 3));
    wide = register_module("wide", ::torch::nn::Linear(8 * 6 * 6, 32));
    out = register_module("out", ::torch::nn::Linear(32, 10));
  }
  ::torch::Tensor forward(const ::torch::Tensor& x) {
    const auto features = ::torch::relu(conv(x)).flatten(1);
    return out(::torch::cat({::torch::relu(wide(features))}, 1));
  }
  ::torch::nn::Conv2d conv{nullptr};
  ::torch::nn::Linear wide{nullptr};
  ::torch::nn::Linear out{nullptr};
};

void train_one_step(Net& net, ::torch::optim::Optimizer& optimizer) {
  const at::RecordFunction step(at::RecordScope::USER_SCOPE);
  const auto x = ::torch::randn({4, 3, 8, 8});
  const auto y = ::torch::randint(0, 10, {4});
  optimizer.zero_grad();
  ::torch::nll_loss(::torch::log_softmax(net.forward(x), 1), y).backward();
  optimizer.step();
}

// One operator as a line: what both sides know of it.
std::string line(const std::string& name, std::int64_t sequence, std::uint64_t forward_thread,
                 int scope, const std::string& shapes) {
  return name + " seq " + std::to_string(sequence) + " fwd " + std::to_string(forward_thread) +
         " scope " + std::to_string(scope) + " " + shapes;
}

std::string shapes_text(c10::ArrayRef<std::vector<std::int64_t>> shapes) {
  std::string text = "[";
  for (const std::vector<std::int64_t>& shape : shapes) {
    if (text.size() > 1) text += ", ";
    text += "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    }
    text += "]";
  }
  return text + "]";
}

struct Both {
  std::vector<std::string> torch_ops;
  std::vector<std::string> our_ops;
  std::vector<std::string> torch_tree;  // depth and name
  std::vector<std::string> our_tree;
  std::vector<std::int64_t> torch_bytes;
  std::vector<std::int64_t> our_bytes;
  Trace trace;
};

// The nesting as RecordFunction itself goes through it, on the main thread.
std::vector<std::string> tree;
int open_ops = 0;

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& fn) {
  tree.push_back(std::to_string(open_ops++) + " " + fn.name());
  return nullptr;
}
void leave(const at::RecordFunction& /*fn*/, at::ObserverContext* /*context*/) {
  --open_ops;
}

void add_torchs(theirs::ProfilerResult& result, Both& both) {
  std::vector<const theirs::KinetoEvent*> events;
  for (const theirs::KinetoEvent& event : result.events()) {
    if (event.name() == "[memory]") {
      both.torch_bytes.push_back(event.nBytes());
    } else {
      both.torch_ops.push_back(line(event.name(), event.sequenceNr(),
                                    event.sequenceNr() >= 0 ? event.fwdThreadId() : 0,
                                    event.scope(), shapes_text(event.shapes())));
    }
  }
}

void add_ours(const EventList& events, Both& both) {
  const Trace& trace = events.trace();
  const SpanTable& spans = trace.spans();
  for (const SpanId span : trace.all_spans()) {
    if (spans.scope[span] == RecordScope::None) continue;
    const std::int64_t sequence = spans.sequence_number[span];
    std::string shapes;
    for (const FunctionEvent event : events) {
      if (event.span() == span) shapes = event.input_shapes();
    }
    both.our_ops.push_back(
        line(std::string(trace.name(span)), sequence,
             static_cast<std::uint64_t>(sequence >= 0 ? spans.forward_thread[span] : 0),
             static_cast<int>(spans.scope[span]), shapes));
    int depth = 0;
    for (SpanId at = spans.parent[span]; at.valid(); at = spans.parent[at]) ++depth;
    both.our_tree.push_back(std::to_string(depth) + " " + std::string(trace.name(span)));
  }
  for (std::size_t i = 0; i < trace.allocations().size(); ++i) {
    both.our_bytes.push_back(trace.allocations().bytes[i]);
  }
}

// The first place where two lists differ; empty if they are equal.
template <typename T>
std::string difference(const std::vector<T>& ours, const std::vector<T>& torchs) {
  const auto [a, b] = std::mismatch(ours.begin(), ours.end(), torchs.begin(), torchs.end());
  if (a == ours.end() && b == torchs.end()) return "";
  std::ostringstream text;
  text << "at " << a - ours.begin() << " of " << ours.size() << " and " << torchs.size()
       << ": ours ";
  if (a != ours.end()) text << *a;
  text << ", torch's ";
  if (b != torchs.end()) text << *b;
  return text.str();
}

Both profile(const std::function<void()>& program) {
  sonde::torch::attach();
  const impl::ProfilerConfig config(impl::ProfilerState::KINETO, true, true, false, false, false);
  const std::set<impl::ActivityType> activities{impl::ActivityType::CPU};
  Profiler prof({.record_shapes = true, .profile_memory = true, .with_flops = true});
  theirs::prepareProfiler(config, activities);
  prof.start();
  theirs::enableProfiler(config, activities);
  tree.clear();
  at::addThreadLocalCallback(at::RecordFunctionCallback(&enter, &leave));
  program();
  const auto result = theirs::disableProfiler();
  at::clearThreadLocalCallbacks();
  prof.stop();
  Both both;
  add_torchs(*result, both);
  both.torch_tree = tree;
  const EventList events = prof.events();
  both.trace = events.trace();
  add_ours(events, both);
  return both;
}

TEST(AgainstTorch, TrainingHasTheSameOperators) {
  Net net;
  ::torch::optim::SGD optimizer(net.parameters(), 0.01);
  train_one_step(net, optimizer);
  const Both both = profile([&] { train_one_step(net, optimizer); });
  ASSERT_GT(both.torch_ops.size(), 50u);
  EXPECT_EQ(difference(both.our_ops, both.torch_ops), "");
  EXPECT_EQ(difference(both.our_tree, both.torch_tree), "");
  EXPECT_EQ(difference(both.our_bytes, both.torch_bytes), "");
}

TEST(AgainstTorch, AnOperatorThatThrowsIsEnded) {
  const Both both = profile([] {
    EXPECT_THROW(::torch::mm(::torch::ones({2, 3}), ::torch::ones({2, 3})), c10::Error);
    ::torch::ones({1});
  });
  EXPECT_EQ(both.our_ops, both.torch_ops);
  for (const SpanId span : both.trace.all_spans()) {
    EXPECT_EQ(both.trace.spans().flags[span] & SpanFlags::kUnfinished, 0);
  }
}

TEST(AgainstTorch, OtherThreadsAreSeenHereAndNotThere) {
  const Both both = profile([] {
    std::thread([] {
      const ::torch::NoGradGuard no_grad;
      ::torch::mm(::torch::ones({4, 4}), ::torch::ones({4, 4}));
    }).join();
  });
  EXPECT_TRUE(both.torch_ops.empty());
  EXPECT_THAT(both.our_ops, ::testing::Contains("aten::mm seq -1 fwd 0 scope 0 [[4, 4], [4, 4]]"));
}

TEST(AgainstTorch, ASecondProfilerThatWantsShapesGetsThem) {
  sonde::torch::attach();
  Profiler plain;
  Profiler shapes({.record_shapes = true});
  plain.start();
  shapes.start();
  ::torch::ones({2, 3}).relu();
  shapes.stop();
  plain.stop();
  bool found = false;
  for (const FunctionEvent event : shapes.events()) {
    found = found || (event.name() == "aten::relu" && event.input_shapes() == "[[2, 3]]");
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(plain.events().empty());
}

TEST(AgainstTorch, ScalarsAndListsAreWrittenAsTorchWritesThem) {
  sonde::torch::attach();
  Profiler prof({.record_shapes = true});
  prof.start();
  ::torch::ones({2, 3}).add(::torch::ones({3}), 0.5).sum(c10::IntArrayRef({0, 1}), true);
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
