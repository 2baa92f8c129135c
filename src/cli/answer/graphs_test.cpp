// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde graphs` of recordings by torch.profiler. The expected numbers were counted in the JSON by
// other means: containment of intervals, event against event.

#include "sonde/analyse/graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/open.h"

namespace sonde {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

GraphCoverage coverage_of_file(const std::string& name) {
  const Result<Trace> trace = open_trace(std::string(SONDE_TEST_DATA) + "/" + name);
  if (!trace) ADD_FAILURE() << trace.error().message;
  return trace ? graph_coverage(*trace) : GraphCoverage();
}

GraphCoverage coverage_of(const std::string& name) {
  return coverage_of_file("torch-2.11-h200/" + name + ".pt.trace.json.gz");
}

struct Expected {
  std::string_view name;
  std::uint64_t calls;
  std::uint64_t ops;
  Nanos host_ns;
  std::uint64_t device_pieces;
  Nanos device_ns;
  std::uint64_t triton_kernels;
};

void expect_region(const GraphRegion& region, const Expected& expected) {
  EXPECT_EQ(region.name, expected.name);
  EXPECT_EQ(region.calls, expected.calls) << region.name;
  EXPECT_EQ(region.share.ops, expected.ops) << region.name;
  EXPECT_EQ(region.share.host_ns, expected.host_ns) << region.name;
  EXPECT_EQ(region.share.device_pieces, expected.device_pieces) << region.name;
  EXPECT_EQ(region.share.device_ns, expected.device_ns) << region.name;
  EXPECT_EQ(region.share.triton_kernels, expected.triton_kernels) << region.name;
}

TEST(GraphsOfRecordings, OfTorchCompileAreFoundWithTheirBreak) {
  const GraphCoverage graphs = coverage_of("compiled");
  EXPECT_EQ(graphs.inside.ops, 14U);
  EXPECT_EQ(graphs.outside.ops, 14U);
  EXPECT_EQ(graphs.inside.host_ns, 4'196'407);
  EXPECT_EQ(graphs.outside.host_ns, 511'895);
  EXPECT_EQ(graphs.inside.device_pieces, 38U);
  EXPECT_EQ(graphs.inside.device_ns, 98'372);
  EXPECT_EQ(graphs.inside.triton_kernels, 16U);
  EXPECT_EQ(graphs.outside.device_pieces, 14U);
  EXPECT_EQ(graphs.outside.device_ns, 14'878);
  EXPECT_EQ(graphs.overhead.guard_checks, 4U);
  EXPECT_EQ(graphs.overhead.guard_ns, 127'802);
  EXPECT_EQ(graphs.overhead.host_ns, 598'137);

  ASSERT_THAT(graphs.regions, SizeIs(4));
  expect_region(graphs.regions[0], {"0/0 backward", 2, 10, 1'629'699, 18, 49'953, 4});
  expect_region(graphs.regions[1], {"0/0", 2, 4, 1'332'939, 14, 40'867, 6});
  expect_region(graphs.regions[2], {"1/0 backward", 2, 0, 859'622, 2, 2'432, 2});
  expect_region(graphs.regions[3], {"1/0", 2, 0, 374'147, 4, 5'120, 4});

  ASSERT_THAT(graphs.breaks, SizeIs(1));
  EXPECT_EQ(graphs.breaks[0].from, "0/0");
  EXPECT_EQ(graphs.breaks[0].into, "1/0");
  EXPECT_EQ(graphs.breaks[0].count, 2U);

  ASSERT_THAT(graphs.outside_ops, SizeIs(3));
  EXPECT_EQ(graphs.outside_ops[0].name, "torch::autograd::AccumulateGrad");
  EXPECT_EQ(graphs.outside_ops[0].count, 10U);
  EXPECT_EQ(graphs.outside_ops[0].host_ns, 298'998);
  EXPECT_EQ(graphs.outside_ops[1].name, "aten::item");
  EXPECT_EQ(graphs.outside_ops[1].broken, "0/0");
  EXPECT_EQ(graphs.outside_ops[1].host_ns, 109'135);
  EXPECT_EQ(graphs.outside_ops[2].name, "aten::ones_like");
}

TEST(GraphsOfRecordings, OfCudaAreFoundWithTheWorkOfTheirLaunches) {
  const GraphCoverage graphs = coverage_of("graph_streams");
  ASSERT_THAT(graphs.regions, SizeIs(1));
  EXPECT_EQ(graphs.regions[0].kind, GraphKind::CudaGraph);
  expect_region(graphs.regions[0], {"cudaGraphLaunch", 5, 0, 238'742, 25, 103'711, 0});
  EXPECT_EQ(graphs.outside.ops, 20U);
  EXPECT_EQ(graphs.outside.host_ns, 19'720'994);
  EXPECT_EQ(graphs.outside.device_pieces, 20U);
  EXPECT_EQ(graphs.outside.device_ns, 10'222'133);
  EXPECT_THAT(graphs.breaks, IsEmpty());
  ASSERT_THAT(graphs.outside_ops, SizeIs(3));
  EXPECT_EQ(graphs.outside_ops[0].name, "aten::to");
  EXPECT_EQ(graphs.outside_ops[0].host_ns, 19'108'414);
}

TEST(GraphsOfRecordings, OfAnEagerProgramAreNone) {
  const GraphCoverage graphs = coverage_of("transformer");
  EXPECT_THAT(graphs.regions, IsEmpty());
  EXPECT_GT(graphs.outside.ops, 100U);
}

// Everything but times, one line per row, in an order that does not depend on times.
std::vector<std::string> counts(const GraphCoverage& graphs) {
  std::vector<std::string> lines;
  for (const GraphRegion& region : graphs.regions) {
    const GraphShare& share = region.share;
    lines.push_back(region.name + ": " + std::to_string(region.calls) + " calls, " +
                    std::to_string(share.ops) + " ops, " + std::to_string(share.device_pieces) +
                    " pieces, " + std::to_string(share.triton_kernels) + " of Triton");
  }
  for (const GraphBreak& one : graphs.breaks)
    lines.push_back(one.from + " -> " + one.into + ": " + std::to_string(one.count));
  for (const OutsideOp& op : graphs.outside_ops)
    lines.push_back("outside " + op.name + " " + op.broken + ": " + std::to_string(op.count));
  std::sort(lines.begin(), lines.end());
  return lines;
}

// tests/cuda/graphs_on_gpu.sh recorded the same program both with torch.profiler and `sonde run`.
TEST(GraphsOfRecordings, AreTheSameForTorchsProfilerAndForSondeRun) {
  const GraphCoverage compiled = coverage_of_file("graphs/compile.sonde");
  EXPECT_EQ(counts(compiled), counts(coverage_of_file("graphs/compile.torch.json.gz")));
  EXPECT_EQ(compiled.inside.triton_kernels, 24U);
  EXPECT_EQ(compiled.overhead.guard_checks, 6U);
  ASSERT_THAT(compiled.breaks, SizeIs(1));
  EXPECT_EQ(compiled.breaks[0].count, 3U);
  const GraphCoverage script = coverage_of_file("graphs/script.sonde");
  EXPECT_EQ(counts(script), counts(coverage_of_file("graphs/script.torch.json.gz")));
  EXPECT_THAT(script.regions, SizeIs(2));
}

}  // namespace
}  // namespace sonde
