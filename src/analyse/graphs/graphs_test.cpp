// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyse/testing/op_trace.h"

namespace sonde {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OpTrace;
using ::testing::SizeIs;

constexpr Nanos kMicrosecond = 1000;

const GraphRegion& region(const GraphCoverage& graphs, std::string_view name) {
  for (const GraphRegion& one : graphs.regions) {
    if (one.name == name) return one;
  }
  static const GraphRegion none;
  ADD_FAILURE() << "no graph " << name;
  return none;
}

// A frame whose graph breaks around aten::item and continues in another frame, as torch.compile
// shows it to torch.profiler.
Trace broken_frame() {
  OpTrace t;
  t.op("TorchDynamo Cache Lookup", 0, 10);
  t.op("Torch-Compiled Region: 0/0", 10, 200);
  t.op("Pregraph bytecode", 11, 15);
  t.op("CompiledFunction", 20, 80).sequence(5);
  t.annotation("## Call CompiledFxGraph key ##", 25, 75);
  t.op("aten::addmm", 30, 40).id(1);
  t.op("triton_poi_fused_gelu_0", 50, 60).id(2);
  t.op("aten::item", 90, 110).id(3);
  t.op("Torch-Compiled Region: 1/0", 120, 190);
  t.op("CompiledFunction", 130, 180).sequence(6);
  t.op("aten::sum", 210, 230).id(4);
  t.op("autograd::engine::evaluate_function: CompiledFunctionBackward", 300, 400);
  t.op("CompiledFunctionBackward", 310, 390).sequence(5).forward_thread(1);
  t.op("aten::mm", 320, 330).id(5);
  t.kernel("gemm", 1000, 1007).launched_by(1);
  t.kernel("triton_poi_fused_gelu_0", 1010, 1013).launched_by(2);
  t.kernel("Memcpy DtoH", 1020, 1021).launched_by(3);
  t.kernel("reduce", 1030, 1032).launched_by(4);
  t.kernel("gemm", 1040, 1045).launched_by(5);
  return t.build();
}

TEST(GraphCoverage, TellsWhatRanInGraphsFromWhatRanBetweenThem) {
  const GraphCoverage graphs = graph_coverage(broken_frame());
  EXPECT_EQ(graphs.inside.ops, 2U) << "aten::addmm and aten::mm; a Triton kernel is no operator";
  EXPECT_EQ(graphs.outside.ops, 2U) << "aten::item and aten::sum";
  EXPECT_EQ(graphs.inside.host_ns, (60 + 50 + 80) * kMicrosecond);
  EXPECT_EQ(graphs.outside.host_ns, (20 + 20) * kMicrosecond);
  EXPECT_EQ(graphs.inside.device_ns, (7 + 3 + 5) * kMicrosecond);
  EXPECT_EQ(graphs.outside.device_ns, (1 + 2) * kMicrosecond);
  EXPECT_EQ(graphs.inside.triton_kernels, 1U);
}

TEST(GraphCoverage, NamesAGraphByItsFrameAndAGradientByItsOperators) {
  const GraphCoverage graphs = graph_coverage(broken_frame());
  EXPECT_THAT(graphs.regions, SizeIs(3));
  EXPECT_EQ(region(graphs, "0/0").share.host_ns, 60 * kMicrosecond);
  EXPECT_EQ(region(graphs, "1/0").share.ops, 0U);
  EXPECT_EQ(region(graphs, "0/0 backward").share.device_ns, 5 * kMicrosecond);
  EXPECT_EQ(region(graphs, "0/0").calls, 1U) << "the graph's own span is no second call";
}

TEST(GraphCoverage, ShowsWhereAGraphBroke) {
  const GraphCoverage graphs = graph_coverage(broken_frame());
  ASSERT_THAT(graphs.breaks, SizeIs(1));
  EXPECT_EQ(graphs.breaks[0].from, "0/0");
  EXPECT_EQ(graphs.breaks[0].into, "1/0");
  ASSERT_THAT(graphs.outside_ops, SizeIs(2));
  EXPECT_EQ(graphs.outside_ops[0].name, "aten::sum") << "more device time";
  EXPECT_EQ(graphs.outside_ops[0].broken, "");
  EXPECT_EQ(graphs.outside_ops[1].name, "aten::item");
  EXPECT_EQ(graphs.outside_ops[1].broken, "0/0");
}

TEST(GraphCoverage, AddsUpToAllHostTimeOfOperatorsAndFrames) {
  const GraphCoverage graphs = graph_coverage(broken_frame());
  // The lookup, the frame, aten::sum and the gradient: nothing else is outermost.
  const Nanos all_ns = (10 + 190 + 20 + 80) * kMicrosecond;
  EXPECT_EQ(graphs.inside.host_ns + graphs.outside.host_ns + graphs.overhead.host_ns, all_ns);
  EXPECT_EQ(graphs.overhead.guard_checks, 1U);
  EXPECT_EQ(graphs.overhead.guard_ns, 10 * kMicrosecond);
}

TEST(GraphCoverage, TakesAFrameThatShowsNoGraphForOne) {
  OpTrace t;
  t.op("Torch-Compiled Region: 2/1", 0, 100);
  t.op("aten::mm", 10, 30);
  const GraphCoverage graphs = graph_coverage(t.build());
  EXPECT_EQ(graphs.inside.ops, 1U);
  EXPECT_EQ(region(graphs, "2/1").share.host_ns, 100 * kMicrosecond);
  EXPECT_THAT(graphs.missing, Contains(HasSubstr("do not show their graphs")));
}

TEST(GraphCoverage, KnowsThatAFrameHasNoGraphWhereAllGraphsShow) {
  OpTrace t;
  t.op("Torch-Compiled Region: 0/0", 0, 100);
  t.op("aten::item", 10, 30);
  t.op("Torch-Compiled Region: 1/0", 40, 90);
  t.annotation("## Call CompiledFxGraph key ##", 50, 80);
  t.op("aten::mm", 60, 70);
  const GraphCoverage graphs = graph_coverage(t.build());
  EXPECT_THAT(graphs.regions, SizeIs(1));
  EXPECT_EQ(region(graphs, "1/0").share.ops, 1U);
  ASSERT_THAT(graphs.outside_ops, SizeIs(1));
  EXPECT_EQ(graphs.outside_ops[0].broken, "0/0");
  EXPECT_THAT(graphs.missing, Not(Contains(HasSubstr("do not show their graphs"))));
}

TEST(GraphCoverage, CountsWhatACudaGraphLaunchedAsItsOwn) {
  OpTrace t;
  t.runtime("cudaGraphLaunch", 0, 20).correlation(7);
  t.op("aten::add", 30, 50).id(1);
  t.runtime("cudaLaunchKernel", 35, 40).correlation(8).id(1);
  t.kernel("a", 100, 110).correlation(7);
  t.kernel("b", 110, 130).correlation(7);
  t.kernel("add", 140, 145).correlation(8).launched_by(1);
  const GraphCoverage graphs = graph_coverage(t.build());
  const GraphRegion& launched = region(graphs, "cudaGraphLaunch");
  EXPECT_EQ(launched.kind, GraphKind::CudaGraph);
  EXPECT_EQ(launched.share.device_pieces, 2U);
  EXPECT_EQ(launched.share.device_ns, 30 * kMicrosecond);
  EXPECT_EQ(launched.share.host_ns, 20 * kMicrosecond);
  EXPECT_EQ(graphs.outside.device_ns, 5 * kMicrosecond);
}

TEST(GraphCoverage, GivesACudaGraphWithinACompiledOneItsOwnShare) {
  OpTrace t;
  t.op("Torch-Compiled Region: 0/0", 0, 100);
  t.op("CompiledFunction", 10, 90);
  t.runtime("cudaGraphLaunch", 20, 50).correlation(7);
  t.kernel("a", 100, 110).correlation(7);
  const GraphCoverage graphs = graph_coverage(t.build());
  EXPECT_EQ(region(graphs, "0/0: cudaGraphLaunch").share.host_ns, 30 * kMicrosecond);
  EXPECT_EQ(region(graphs, "0/0").share.host_ns, 50 * kMicrosecond);
  EXPECT_EQ(graphs.inside.host_ns, 80 * kMicrosecond);
}

TEST(GraphCoverage, KnowsTorchScriptByItsScopeOrByItsNames) {
  OpTrace t;
  t.op("encode", 0, 50).scope(RecordScope::TorchscriptFunction);
  t.op("forward", 10, 40).scope(RecordScope::TorchscriptFunction);
  t.op("aten::mm", 15, 20);
  t.op("forward", 60, 80);
  t.op("<forward op>", 62, 78);
  t.op("torch::jit::(anonymous namespace)::DifferentiableGraphBackward", 90, 95);
  t.op("<backward op>", 91, 94);
  t.op("aten::mm", 92, 93);
  t.annotation("forward", 100, 110);
  const GraphCoverage graphs = graph_coverage(t.build());
  EXPECT_THAT(graphs.regions, SizeIs(3)) << "an annotation of that name is none";
  EXPECT_EQ(region(graphs, "encode").share.ops, 1U) << "the outermost function has it";
  EXPECT_EQ(region(graphs, "forward").calls, 1U);
  EXPECT_EQ(graphs.inside.ops, 2U) << "a part of a function is no operator";
  EXPECT_EQ(graphs.inside.host_ns, (50 + 20 + 5) * kMicrosecond);
}

TEST(GraphCoverage, CountsMarkedCalls) {
  OpTrace t;
  t.annotation("TORCHDYNAMO", 0, 30);
  t.op("aten::mm", 10, 20);
  t.op("aten::mm", 40, 50);
  const GraphCoverage graphs = graph_coverage(t.build());
  EXPECT_EQ(region(graphs, "TORCHDYNAMO").kind, GraphKind::Marked);
  EXPECT_EQ(graphs.inside.ops, 1U);
  EXPECT_EQ(graphs.outside.ops, 1U);
}

TEST(GraphCoverage, GivesWhatReachesOutOfAGraphToNoGraph) {
  OpTrace t;
  t.op("Torch-Compiled Region: 0/0", 0, 100);
  t.op("aten::mm", 10, 20);
  t.op("odd", 50, 120);
  t.op("aten::mm", 60, 70);
  t.op("aten::mm", 130, 140);
  const GraphCoverage graphs = graph_coverage(t.build());
  EXPECT_EQ(graphs.inside.ops, 1U);
  EXPECT_EQ(graphs.outside.ops, 2U) << "odd with what it called, and the last";
}

TEST(GraphCoverage, OfAnEmptyTraceIsEmpty) {
  const GraphCoverage graphs = graph_coverage(Trace());
  EXPECT_THAT(graphs.regions, IsEmpty());
  EXPECT_EQ(graphs.inside.ops + graphs.outside.ops, 0U);
}

}  // namespace
}  // namespace sonde
