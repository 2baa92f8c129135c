// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Work that waits for other work, and how long all of it would take if some of it were shorter.
//
//   GraphBuilder builder;
//   const GraphNode launch = builder.add(thread, 0, 10);
//   const GraphNode kernel = builder.add(stream, 15, 100);
//   builder.depend(kernel, launch, 3);            // it usually begins 3 ns after its launch
//   const Graph graph = std::move(builder).build();
//   std::vector<Nanos> durations = graph.durations();
//   durations[kernel] /= 2;
//   replay(graph, durations).end_ns - replay(graph).end_ns;
//
// A node begins when everything that it waits for has ended and a delay has passed. Nodes on one
// lane run in order. build() chooses the delays so that a replay without changes gives every node
// its recorded time: of the nodes that a node waits for, the last one held it up, and that edge
// gets the rest of the delay. A node that waits for nothing begins at its recorded time.
//
// The graph knows nothing about traces: lanes may be threads, streams or ranks. Building sorts what
// is nearly in order. A replay visits each node and each edge once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// Nodes are numbered in the order in which they are added.
using GraphNode = std::uint32_t;
using GraphEdge = std::uint32_t;
inline constexpr GraphNode kNoNode = 0xffffffff;
inline constexpr GraphEdge kNoEdge = 0xffffffff;

class Graph {
 public:
  struct Edge {
    GraphNode from = kNoNode;
    Nanos delay_ns = 0;  // between the end of `from` and the begin of the node; may be negative
  };

  std::size_t size() const noexcept { return begin_ns_.size(); }
  std::size_t edge_count() const noexcept { return edges_.size(); }
  Nanos begin_ns(GraphNode node) const noexcept { return begin_ns_[node]; }
  Nanos duration_ns(GraphNode node) const noexcept { return duration_ns_[node]; }
  Nanos end_ns(GraphNode node) const noexcept { return begin_ns_[node] + duration_ns_[node]; }
  std::uint32_t lane(GraphNode node) const noexcept { return lane_[node]; }
  const std::vector<Nanos>& durations() const noexcept { return duration_ns_; }

  // What a node waits for; the edges are numbered from first_edge() on.
  std::span<const Edge> incoming(GraphNode node) const noexcept {
    return {edges_.data() + first_edge_[node], edges_.data() + first_edge_[node + 1]};
  }
  GraphEdge first_edge(GraphNode node) const noexcept { return first_edge_[node]; }
  const Edge& edge(GraphEdge edge) const noexcept { return edges_[edge]; }
  // The nodes by recorded begin, so that each comes after those that it waits for.
  const std::vector<GraphNode>& order() const noexcept { return order_; }
  // How many dependencies the recorded times contradict, because the awaited node began later. They
  // are not in the graph.
  std::size_t contradictions() const noexcept { return contradictions_; }

 private:
  friend class GraphBuilder;

  std::vector<Nanos> begin_ns_;
  std::vector<Nanos> duration_ns_;
  std::vector<std::uint32_t> lane_;
  std::vector<GraphEdge> first_edge_;  // of each node, then the end
  std::vector<Edge> edges_;
  std::vector<GraphNode> order_;
  std::size_t contradictions_ = 0;
};

class GraphBuilder {
 public:
  // Lanes are small numbers. Add the nodes of one lane in the order in which they begin. Each waits
  // for the one before it on its lane, and begins `usual_delay_ns` after it if nothing else holds
  // it up.
  GraphNode add(std::uint32_t lane, Nanos begin_ns, Nanos duration_ns, Nanos usual_delay_ns = 0);
  // `node` begins only after `on` has ended and the usual delay has passed.
  void depend(GraphNode node, GraphNode on, Nanos usual_delay_ns = 0);

  // The last node of a lane; kNoNode if it has none.
  GraphNode last(std::uint32_t lane) const noexcept {
    return lane < last_.size() ? last_[lane] : kNoNode;
  }
  std::size_t size() const noexcept { return graph_.size(); }
  Nanos end_ns(GraphNode node) const noexcept { return graph_.end_ns(node); }

  Graph build() &&;

 private:
  struct Dependency {
    GraphNode node;
    Graph::Edge edge;
  };

  void sort_nodes();
  void group_edges();
  void fit_delays(GraphNode node);

  Graph graph_;
  std::vector<GraphNode> last_;  // of each lane
  std::vector<Dependency> dependencies_;
};

// When each node ran.
struct Replay {
  std::vector<Nanos> begin_ns;  // of each node
  std::vector<Nanos> duration_ns;
  std::vector<GraphEdge> cause;  // the edge that held a node up; kNoEdge: it waited for nothing
  Nanos first_ns = 0;            // the first begin
  Nanos end_ns = 0;              // the last end

  Nanos end_of(GraphNode node) const noexcept { return begin_ns[node] + duration_ns[node]; }
  Nanos length_ns() const noexcept { return end_ns - first_ns; }
};

// Replays what was recorded.
Replay replay(const Graph& graph);
// Replays with other durations, one per node, without the edges for which `without` is set, and
// with delays before each node of at most `most_delays` (one per node). Empty lists change nothing.
Replay replay(const Graph& graph, std::vector<Nanos> durations,
              const std::vector<bool>& without = {}, const std::vector<Nanos>& most_delays = {});

// One step of the longest path.
struct PathPart {
  GraphNode node = kNoNode;
  Nanos delay_ns = 0;  // between the end of the part before and the begin of this one; of the first
                       // part 0; negative where it began before the other was over
};

// What the end of a node waited for, back to the beginning; in time order. The delays and durations
// add up to the time from the begin of the first part to the end of the last.
std::vector<PathPart> path_to(const Graph& graph, const Replay& times, GraphNode node);
// The path to the node that ends last.
std::vector<PathPart> critical_path(const Graph& graph, const Replay& times);

}  // namespace sonde::detail
