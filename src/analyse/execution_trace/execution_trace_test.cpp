// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/execution_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/testing/op_trace.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::OpTrace;

// relu reads a tensor from outside and makes one that mm reads.
ExecutionTrace small_trace() {
  ExecutionTrace et;
  ExecutionTraceNode node;
  const auto add = [&](std::uint64_t id, std::uint64_t parent, std::string_view name) {
    node.id = id;
    node.parent = parent;
    node.name = name;
    node.record_function_id = id < 3 ? 0 : id;
    et.nodes.push_back(node);
    node = {};
  };
  node.scope = kUserScope;
  add(2, 1, kThreadNodeName);
  node.inputs.values = R"([[4,5,0,6,4,"cpu"]])";
  node.outputs.values = R"([[6,7,0,6,4,"cpu"]])";
  add(3, 2, "aten::relu");
  node.inputs.values = R"([[6,7,0,6,4,"cpu"],[4,5,0,6,4,"cpu"]])";
  add(8, 2, "aten::mm");
  node.scope = kUserScope;
  add(1, 1, kProcessNodeName);
  return et;
}

TEST(ExecutionTraceSummary, CountsWhatIsThere) {
  const ExecutionTraceSummary summary = execution_trace_summary(small_trace());
  EXPECT_EQ(summary.operators, 2U);
  EXPECT_EQ(summary.annotations, 0U);
  EXPECT_EQ(summary.threads, 1U);
  EXPECT_EQ(summary.deepest, 1U);
  EXPECT_EQ(summary.inputs, 3U);
  EXPECT_EQ(summary.outputs, 1U);
  EXPECT_EQ(summary.tensors, 2U);
  EXPECT_EQ(summary.tensors_from_outside, 1U);
  EXPECT_EQ(summary.storages, 2U);
  EXPECT_TRUE(summary.is_sound());
}

TEST(ExecutionTraceSummary, FindsAnIdThatIsThereTwice) {
  ExecutionTrace et = small_trace();
  et.nodes[2].id = 3;
  EXPECT_THAT(execution_trace_summary(et).repeated_ids, ElementsAre(3));
}

TEST(ExecutionTraceSummary, FindsAParentThatIsNotThere) {
  ExecutionTrace et = small_trace();
  et.nodes[2].parent = 7;
  EXPECT_THAT(execution_trace_summary(et).without_parent, ElementsAre(8));
}

TEST(ExecutionTraceSummary, FindsANodeThatBeginsBeforeItsParent) {
  ExecutionTrace et = small_trace();
  et.nodes[1].parent = 8;
  EXPECT_THAT(execution_trace_summary(et).before_their_parent, ElementsAre(3));
}

TEST(ExecutionTraceSummary, FindsATensorThatNobodyDefined) {
  ExecutionTrace et = small_trace();
  et.nodes.erase(et.nodes.begin() + 1);
  EXPECT_THAT(execution_trace_summary(et).undefined_tensors, ElementsAre(4, 6));
}

TEST(ExecutionTraceSummary, MissesTheRoot) {
  ExecutionTrace et = small_trace();
  et.nodes.pop_back();
  EXPECT_FALSE(execution_trace_summary(et).has_root);
  EXPECT_FALSE(execution_trace_summary(et).is_sound());
}

TEST(ExecutionTraceJoin, GoesByRecordFunctionIds) {
  OpTrace t;
  SpanTable& spans = t.builder().spans();
  spans.record_function_id.set(t.op("aten::relu", 0, 10).span(), 3);
  spans.record_function_id.set(t.op("aten::mm", 20, 30).span(), 8);
  const ExecutionTraceJoin join = execution_trace_join(small_trace(), t.build());
  EXPECT_EQ(join.joined, 2U);
  EXPECT_TRUE(join.is_complete());
}

TEST(ExecutionTraceJoin, NamesWhatIsOnOneSideOnly) {
  OpTrace t;
  SpanTable& spans = t.builder().spans();
  spans.record_function_id.set(t.op("aten::gelu", 0, 10).span(), 3);
  spans.record_function_id.set(t.op("aten::add", 20, 30).span(), 9);
  const ExecutionTraceJoin join = execution_trace_join(small_trace(), t.build());
  EXPECT_THAT(join.other_names, ElementsAre("3: aten::relu, aten::gelu"));
  EXPECT_THAT(join.only_nodes, ElementsAre("8: aten::mm"));
  EXPECT_THAT(join.only_spans, ElementsAre("9: aten::add"));
  EXPECT_FALSE(join.is_complete());
}

std::vector<std::string> lines_of(const ExecutionTrace& et) {
  std::vector<std::string> lines;
  for (const ExecutionTraceNode& node : et.nodes) {
    lines.push_back(std::to_string(node.id) + "<" + std::to_string(node.parent) + " " +
                    std::string(node.name));
  }
  return lines;
}

TEST(ExecutionTraceOfATrace, HasItsNestingWithChildrenFirst) {
  OpTrace t;
  t.annotation("step", 0, 100);
  t.op("aten::linear", 10, 50);
  t.op("aten::mm", 20, 40);
  t.runtime("cudaLaunchKernel", 25, 30);
  t.op("aten::relu", 60, 70);
  t.kernel("gemm", 45, 65);
  const auto et = execution_trace_of(t.build());
  ASSERT_TRUE(et) << et.error().message;
  EXPECT_THAT(lines_of(*et),
              ElementsAre("2<1 [pytorch|profiler|execution_trace|thread]", "5<4 aten::mm",
                          "4<3 aten::linear", "6<3 aten::relu", "3<2 step",
                          "1<1 [pytorch|profiler|execution_trace|process]"));
  EXPECT_EQ(et->nodes[1].scope, 0U);
  EXPECT_EQ(et->nodes[4].scope, kUserScope);
  EXPECT_EQ(et->pid, 100);
  EXPECT_TRUE(execution_trace_summary(*et).is_sound());
}

TEST(ExecutionTraceOfATrace, HasTheInputsThatWereRecorded) {
  OpTrace t;
  const SpanId mm = t.op("aten::mm", 0, 10)
                        .tensor({2, 3})
                        .scalar("True")
                        .scalar("1.")
                        .scalar("[1, 2.5]", ArgumentKind::ScalarList)
                        .scalar("[]", ArgumentKind::ScalarList)
                        .none()
                        .scalar("inf")
                        .span();
  t.builder().op_arguments().dtype.set(OpArgumentId(0), t.builder().intern("float"));
  t.builder().tensor_uses().push_back(
      {.span = mm, .index = 0, .tensor_address = 0x10, .storage_address = 0x20});
  const auto et = execution_trace_of(t.build());
  ASSERT_TRUE(et) << et.error().message;
  const ExecutionTraceValues& inputs = et->nodes[1].inputs;
  EXPECT_EQ(inputs.values, R"([[4,5,0,6,4,"cpu"],true,1.0,[1,2.5],[],"<None>","inf"])");
  EXPECT_EQ(inputs.shapes, "[[2,3],[],[],[[],[]],[],[],[]]");
  EXPECT_EQ(
      inputs.types,
      R"x(["Tensor(float)","Bool","Double","GenericList[Int,Double]","GenericList[]","None","Double"])x");
  EXPECT_EQ(et->nodes[1].outputs.values, "[]");
}

TEST(ExecutionTraceOfATrace, PutsTheTensorsOfAListIntoIt) {
  OpTrace t;
  const OpTrace::Span cat = t.op("aten::cat", 0, 10).scalar("", ArgumentKind::TensorList);
  OpTrace::Span(cat).tensor({2}).tensor({3}).scalar("0");
  OpArgumentTable& arguments = t.builder().op_arguments();
  for (std::uint32_t i = 1; i < 3; ++i) {
    arguments.index.set(OpArgumentId(i), 0);
    arguments.element.set(OpArgumentId(i), static_cast<std::int32_t>(i) - 1);
  }
  const auto et = execution_trace_of(t.build());
  ASSERT_TRUE(et) << et.error().message;
  const ExecutionTraceValues& inputs = et->nodes[1].inputs;
  EXPECT_EQ(inputs.values, R"([[[0,0,0,2,0,"cpu"],[0,0,0,3,0,"cpu"]],0])");
  EXPECT_EQ(inputs.shapes, "[[[2],[3]],[]]");
  EXPECT_EQ(inputs.types, R"x(["GenericList[Tensor(),Tensor()]","Int"])x");
}

TEST(ExecutionTraceOfATrace, NeedsOperators) {
  OpTrace t;
  t.annotation("step", 0, 100);
  EXPECT_FALSE(execution_trace_of(t.build()));
}

}  // namespace
}  // namespace sonde
