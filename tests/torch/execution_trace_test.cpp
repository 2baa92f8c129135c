// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Execution traces of LibTorch programs: ours compared with torch's own of the same steps.

#include "sonde/profile/execution_trace.h"

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <thread>

#if __has_include(<torch/csrc/profiler/standalone/execution_trace_observer.h>)
#include <torch/csrc/profiler/standalone/execution_trace_observer.h>
#else
#include <torch/csrc/profiler/execution_graph_observer.h>
#endif

#include "replay.h"
#include "sonde/analyse/execution_trace.h"
#include "sonde/profile/distributed.h"
#include "sonde/profiler.h"
#include "sonde/torch.h"
#include "sonde/trace/execution_trace_file.h"
#include "trace/execution_trace_tensors.h"
#include "trace/testing/temp_dir.h"

namespace sonde::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Torch's observer, under the names of this version.
class TorchsObserver {
 public:
  explicit TorchsObserver(const std::string& path) {
    namespace impl = ::torch::profiler::impl;
#if __has_include(<torch/csrc/profiler/standalone/execution_trace_observer.h>)
    impl::addExecutionTraceObserver(path);
    impl::enableExecutionTraceObserver();
#else
    impl::addExecutionGraphObserver(path);
    impl::enableExecutionGraphObserver();
#endif
  }
  ~TorchsObserver() {
    namespace impl = ::torch::profiler::impl;
#if __has_include(<torch/csrc/profiler/standalone/execution_trace_observer.h>)
    impl::disableExecutionTraceObserver();
    impl::removeExecutionTraceObserver();
#else
    impl::disableExecutionGraphObserver();
    impl::removeExecutionGraphObserver();
#endif
  }
  TorchsObserver(const TorchsObserver&) = delete;
  TorchsObserver& operator=(const TorchsObserver&) = delete;
};

struct Net {
  at::Tensor weight = at::randn({5, 3}).requires_grad_(true);
  at::Tensor bias = at::randn({5}).requires_grad_(true);

  void step() {
    RECORD_USER_SCOPE("step");
    const at::Tensor x = at::randn({4, 3});
    const at::Tensor y = at::linear(x, weight, bias).relu();
    const std::vector<at::Tensor> parts = at::cat({y, y}, 0).split_with_sizes({2, 6});
    (parts[0].sum() + parts[1].mul(0.25).sum()).backward();
    weight.mutable_grad().reset();
    bias.mutable_grad().reset();
  }
};

ExecutionTrace opened(const std::string& path) {
  auto et = open_execution_trace(path);
  EXPECT_TRUE(et) << et.error().message;
  return et ? *std::move(et) : ExecutionTrace();
}

// Describes a node without the numbers that differ between two observers.
std::map<std::uint64_t, std::string> lines_of(const ExecutionTrace& et) {
  std::map<std::uint64_t, const ExecutionTraceNode*> by_id;
  for (const ExecutionTraceNode& node : et.nodes) by_id[node.id] = &node;
  const auto function_id = [&](std::uint64_t id) {
    return by_id.count(id) > 0 ? std::to_string(by_id[id]->record_function_id) : "none";
  };
  std::map<std::uint64_t, std::string> lines;
  for (const ExecutionTraceNode& node : et.nodes) {
    if (node.record_function_id == 0) continue;
    std::string line = std::string(node.name) + " in " + function_id(node.parent);
    line += " seq " + std::to_string(node.sequence_number) + " scope " + std::to_string(node.scope);
    line += " thread " + std::to_string(node.thread) + "/" + std::to_string(node.forward_thread);
    if (node.forward_parent != 0) line += " forward " + function_id(node.forward_parent);
    for (const ExecutionTraceValues* values : {&node.inputs, &node.outputs}) {
      line += " | " + std::to_string(list_size(values->values)) + " " +
              std::string(values->shapes) + " " + std::string(values->types);
    }
    lines[node.record_function_id] = line + " | " + std::string(node.schema);
  }
  return lines;
}

// Both number tensors by address, so each number of one corresponds to one number of the other.
std::string differing_tensors(const ExecutionTrace& ours, const ExecutionTrace& theirs) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> ids[2];
  for (int side = 0; side < 2; ++side) {
    for (const ExecutionTraceNode& node : (side == 0 ? ours : theirs).nodes) {
      for (const ExecutionTraceValues* values : {&node.inputs, &node.outputs})
        for_each_tensor(values->values, [&](const TensorValue& tensor) {
          ids[side][node.record_function_id].insert(ids[side][node.record_function_id].end(),
                                                    {tensor.id, tensor.storage});
        });
    }
  }
  std::map<std::uint64_t, std::uint64_t> to_theirs;
  std::map<std::uint64_t, std::uint64_t> to_ours;
  for (const auto& [function, list] : ids[0]) {
    const auto& other = ids[1][function];
    if (list.size() != other.size()) return "another count in " + std::to_string(function);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (to_theirs.emplace(list[i], other[i]).first->second != other[i] ||
          to_ours.emplace(other[i], list[i]).first->second != list[i])
        return "another tensor in " + std::to_string(function);
    }
  }
  return "";
}

TEST(LibTorchsExecutionTrace, IsWhatTorchsOwnObserverWrites) {
  sonde::torch::attach();
  const TempDir folder;
  Net net;
  net.step();
  ExecutionTraceObserver observer;
  ASSERT_TRUE(observer.register_callback(folder.file("ours.json")));
  {
    const TorchsObserver torchs(folder.file("theirs.json"));
    observer.start();
    for (int i = 0; i < 3; ++i) net.step();
    observer.stop();
  }
  ASSERT_TRUE(observer.unregister_callback());
  const ExecutionTrace ours = opened(folder.file("ours.json"));
  const ExecutionTrace theirs = opened(folder.file("theirs.json"));
  EXPECT_GT(ours.nodes.size(), 100U);
  EXPECT_EQ(ours.nodes.size(), theirs.nodes.size());
  EXPECT_EQ(lines_of(ours), lines_of(theirs));
  EXPECT_EQ(differing_tensors(ours, theirs), "");
  EXPECT_TRUE(execution_trace_summary(ours).is_sound());
}

TEST(LibTorchsExecutionTrace, FollowsTheProfilerAndJoinsItsTrace) {
  sonde::torch::attach();
  const TempDir folder;
  Net net;
  auto observer = std::make_shared<ExecutionTraceObserver>();
  ASSERT_TRUE(observer->register_callback(folder.file("et.json.gz")));
  Profiler prof({.schedule = schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 1}),
                 .execution_trace_observer = observer});
  prof.start();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(observer->is_running(), i == 2 || i == 3) << i;
    net.step();
    prof.step();
  }
  const auto trace = prof.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_TRUE(prof.close());
  EXPECT_FALSE(observer->is_registered());
  const ExecutionTrace et = opened(folder.file("et.json.gz"));
  const ExecutionTraceJoin join = execution_trace_join(et, *trace);
  EXPECT_TRUE(join.is_complete());
  EXPECT_THAT(join.only_nodes, IsEmpty());
  EXPECT_THAT(join.only_spans, IsEmpty());
  EXPECT_GT(join.joined, 50U);
}

TEST(LibTorchsExecutionTrace, DefinesEveryTensorBeforeItsUse) {
  sonde::torch::attach();
  const TempDir folder;
  ExecutionTraceObserver observer;
  ASSERT_TRUE(observer.register_callback(folder.file("et.json")));
  observer.start();
  Net net;
  for (int i = 0; i < 2; ++i) net.step();
  std::thread([&] { at::ones({3}).add(1); }).join();
  observer.cleanup();
  const Replay replay = replayed(opened(folder.file("et.json")));
  EXPECT_THAT(replay.undefined, IsEmpty());
  EXPECT_GT(replay.operators.size(), 60U);
  EXPECT_EQ(replay.operators.front(), "aten::randn");
  // Even the parameters were made while it ran. The rest is made without an operator: in each step
  // a number that becomes a tensor, and one that autograd unpacks.
  EXPECT_LE(replay.outside.size(), 4U);
}

TEST(LibTorchsExecutionTrace, TellsInfinitiesNestedListsAndSmallNumbers) {
  sonde::torch::attach();
  const TempDir folder;
  ExecutionTraceObserver observer;
  ASSERT_TRUE(observer.register_callback(folder.file("et.json")));
  observer.start();
  const at::Tensor x = at::full({2}, 1e-9);
  at::full({1}, -std::numeric_limits<double>::infinity());
  at::full({1}, std::numeric_limits<double>::quiet_NaN());
  at::_foreach_add({x, x}, {x, x});
  observer.cleanup();
  std::map<std::string, std::string> values;
  for (const ExecutionTraceNode& node : opened(folder.file("et.json")).nodes)
    values[std::string(node.name)] += std::string(node.inputs.values);
  EXPECT_THAT(values["aten::full"], HasSubstr("1e-09"));
  EXPECT_THAT(values["aten::full"], HasSubstr("\"-inf\""));
  EXPECT_THAT(values["aten::full"], HasSubstr("\"nan\""));
  EXPECT_THAT(values["aten::_foreach_add"], HasSubstr("[[["));
}

TEST(LibTorchsExecutionTrace, KeepsWhatIsOpenWhenItStops) {
  sonde::torch::attach();
  const TempDir folder;
  ExecutionTraceObserver observer;
  ASSERT_TRUE(observer.register_callback(folder.file("et.json")));
  observer.start();
  {
    RECORD_USER_SCOPE("outer \"quoted\"");
    at::ones({2});
    observer.stop();
  }
  at::zeros({2});
  observer.start();
  at::full({2}, 3);
  observer.cleanup();
  const ExecutionTrace et = opened(folder.file("et.json"));
  const ExecutionTraceSummary summary = execution_trace_summary(et);
  EXPECT_TRUE(summary.is_sound());
  EXPECT_EQ(summary.annotations, 1U);
  std::vector<std::string> top;
  for (const ExecutionTraceNode& node : et.nodes) {
    if (node.parent == 2) top.emplace_back(node.name);
  }
  EXPECT_THAT(top, ElementsAre("outer \"quoted\"", "aten::full"));
}

TEST(LibTorchsExecutionTrace, HasANodeForProcessGroupsIfTheyAreKnown) {
  sonde::torch::attach();
  const TempDir folder;
  const std::string groups = R"([{"pg_name": "0", "ranks": [], "group_size": 2}])";
  set_distributed_info({.rank = 0, .world_size = 2, .backend = "gloo", .pg_config = groups});
  ExecutionTraceObserver observer;
  const auto registered = observer.register_callback(folder.file("et.json"));
  observer.start();
  at::ones({2});
  set_distributed_info({});
  ASSERT_TRUE(registered) << registered.error().message;
  const std::string path = observer.output_file_path();
  observer.cleanup();
  const ExecutionTrace et = opened(path);
  EXPECT_EQ(execution_trace_summary(et).process_groups, 1U);
  for (const ExecutionTraceNode& node : et.nodes) {
    if (node.name == kProcessGroupNodeName) {
      EXPECT_EQ(node.inputs.values,
                R"(["[{\"pg_name\": \"0\", \"ranks\": [], \"group_size\": 2}]"])");
    }
  }
}

TEST(LibTorchsExecutionTrace, IsReadableAfterAKill) {
  sonde::torch::attach();
  const TempDir folder;
  const std::string path = folder.file("et.json.gz");
  const pid_t child = ::fork();
  if (child == 0) {
    ExecutionTraceObserver observer;
    if (!observer.register_callback(path)) ::_exit(1);
    observer.start();
    for (int i = 0; i < 200; ++i) at::ones({2}).add(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const ExecutionTrace et = opened(path);
  EXPECT_THAT(et.problems, IsEmpty());
  EXPECT_GT(et.nodes.size(), 500U);
  EXPECT_THAT(replayed(et).undefined, IsEmpty());
}

}  // namespace
}  // namespace sonde::testing
