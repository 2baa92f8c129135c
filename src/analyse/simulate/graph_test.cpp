// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/simulate/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

namespace sonde::detail {
namespace {

using ::testing::ElementsAre;

std::vector<GraphNode> nodes_of(const std::vector<PathPart>& path) {
  std::vector<GraphNode> nodes;
  for (const PathPart& part : path) nodes.push_back(part.node);
  return nodes;
}

Replay with_duration(const Graph& graph, GraphNode node, Nanos duration_ns) {
  std::vector<Nanos> durations = graph.durations();
  durations[node] = duration_ns;
  return replay(graph, std::move(durations));
}

TEST(GraphReplay, GivesTheRecordedTimesIfNothingIsChanged) {
  GraphBuilder builder;
  const GraphNode a = builder.add(0, 5, 10);
  const GraphNode b = builder.add(0, 22, 10, 1);
  const GraphNode kernel = builder.add(1, 40, 100);
  builder.depend(kernel, b, 3);
  const GraphNode c = builder.add(0, 143, 7);
  builder.depend(c, kernel, 1);
  const Graph graph = std::move(builder).build();
  const Replay times = replay(graph);
  EXPECT_THAT(times.begin_ns, ElementsAre(5, 22, 40, 143));
  EXPECT_EQ(times.length_ns(), 145);
  EXPECT_EQ(graph.contradictions(), 0U);
  EXPECT_EQ(times.cause[a], kNoEdge);
}

TEST(GraphReplay, OfAShorterNodeWaitsForTheOther) {
  GraphBuilder builder;
  const GraphNode left = builder.add(0, 0, 100);
  const GraphNode right = builder.add(1, 0, 80);
  const GraphNode both = builder.add(2, 102, 10);
  builder.depend(both, left);
  builder.depend(both, right);
  const Graph graph = std::move(builder).build();
  EXPECT_EQ(with_duration(graph, left, 90).begin_ns[both], 92);
  EXPECT_EQ(with_duration(graph, left, 10).begin_ns[both], 80);  // without the other's delay
}

TEST(GraphReplay, KeepsTheUsualDelayOfWhatDidNotHoldANodeUp) {
  GraphBuilder builder;
  const GraphNode launch = builder.add(0, 0, 10);
  const GraphNode before = builder.add(1, 0, 100);
  const GraphNode kernel = builder.add(1, 101, 50);
  builder.depend(kernel, launch, 5);
  const Graph graph = std::move(builder).build();
  EXPECT_EQ(with_duration(graph, before, 0).begin_ns[kernel], 15);
}

TEST(GraphReplay, GoesOnWithoutEdgesThatAreTakenOut) {
  GraphBuilder builder;
  builder.add(0, 0, 10);
  const GraphNode device = builder.add(1, 0, 200);
  const GraphNode resumed = builder.add(0, 203, 10, 2);
  builder.depend(resumed, device);
  const Graph graph = std::move(builder).build();
  std::vector<bool> without(graph.edge_count());
  for (GraphEdge edge = graph.first_edge(resumed); edge < graph.edge_count(); ++edge)
    without[edge] = graph.edge(edge).from == device;
  EXPECT_EQ(replay(graph, graph.durations(), without).begin_ns[resumed], 12);
}

TEST(GraphReplay, LetsOverlappingWorkOfALaneOverlap) {
  GraphBuilder builder;
  const GraphNode first = builder.add(0, 0, 100);
  const GraphNode second = builder.add(0, 60, 100);
  const Graph graph = std::move(builder).build();
  EXPECT_EQ(replay(graph).length_ns(), 160);
  EXPECT_EQ(with_duration(graph, first, 50).begin_ns[second], 10);
  EXPECT_EQ(with_duration(graph, first, 0).begin_ns[second], 0);  // not before the other began
}

TEST(Graph, LeavesOutWhatItsTimesContradict) {
  GraphBuilder builder;
  const GraphNode early = builder.add(0, 0, 10);
  const GraphNode late = builder.add(1, 50, 10);
  builder.depend(early, late);
  const Graph graph = std::move(builder).build();
  EXPECT_EQ(graph.contradictions(), 1U);
  EXPECT_EQ(replay(graph).begin_ns[early], 0);
}

TEST(Graph, StaysInRangeWhateverTheTimesAre) {
  constexpr Nanos kMost = std::numeric_limits<Nanos>::max() / 2;
  GraphBuilder builder;
  const GraphNode first = builder.add(0, -kMost, kMost);
  builder.add(0, kMost, kMost);
  const Graph graph = std::move(builder).build();
  EXPECT_EQ(with_duration(graph, first, std::numeric_limits<Nanos>::max()).end_ns,
            std::numeric_limits<Nanos>::max());
}

TEST(CriticalPath, IsWhatTheLastEndWaitedFor) {
  GraphBuilder builder;
  const GraphNode host = builder.add(0, 0, 10);
  const GraphNode kernel = builder.add(1, 12, 100);
  builder.depend(kernel, host, 2);
  builder.add(0, 10, 5);
  const GraphNode resumed = builder.add(0, 115, 20, 1);
  builder.depend(resumed, kernel, 1);
  const Graph graph = std::move(builder).build();
  const Replay times = replay(graph);
  const std::vector<PathPart> path = critical_path(graph, times);
  EXPECT_THAT(nodes_of(path), ElementsAre(host, kernel, resumed));
  Nanos total_ns = 0;
  for (const PathPart& part : path) total_ns += part.delay_ns + times.duration_ns[part.node];
  EXPECT_EQ(total_ns, times.length_ns());
}

TEST(CriticalPath, OfNothingIsEmpty) {
  const Graph graph = GraphBuilder().build();
  EXPECT_TRUE(critical_path(graph, replay(graph)).empty());
  EXPECT_EQ(replay(graph).length_ns(), 0);
}

// Two ranks that meet: a join has no duration, and each rank's transfer waits for it.
TEST(GraphReplay, LetsRanksMeet) {
  GraphBuilder builder;
  const GraphNode fast = builder.add(0, 0, 100);
  const GraphNode slow = builder.add(1, 0, 300);
  const GraphNode meeting = builder.add(2, 300, 0);
  builder.depend(meeting, fast);
  builder.depend(meeting, slow);
  for (const std::uint32_t lane : {0U, 1U}) builder.depend(builder.add(lane, 300, 50), meeting);
  const Graph graph = std::move(builder).build();
  EXPECT_EQ(replay(graph).length_ns(), 350);
  EXPECT_EQ(with_duration(graph, slow, 100).length_ns(), 150);
}

}  // namespace
}  // namespace sonde::detail
