// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/simulate/graph.h"

#include <algorithm>
#include <numeric>

#include "base/run_sort.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

// When a node that waits for this one may begin: not before this one has begun, whatever the delay.
Nanos after(Nanos begin_ns, Nanos duration_ns, Nanos delay_ns) {
  Nanos time_ns = begin_ns;
  add_to(time_ns, duration_ns);
  add_to(time_ns, delay_ns);
  return std::max(time_ns, begin_ns);
}

}  // namespace

GraphNode GraphBuilder::add(std::uint32_t lane, Nanos begin_ns, Nanos duration_ns,
                            Nanos usual_delay_ns) {
  const auto node = static_cast<GraphNode>(graph_.size());
  graph_.begin_ns_.push_back(begin_ns);
  graph_.duration_ns_.push_back(std::max<Nanos>(duration_ns, 0));
  graph_.lane_.push_back(lane);
  if (lane >= last_.size()) last_.resize(lane + 1, kNoNode);
  if (last_[lane] != kNoNode) depend(node, last_[lane], usual_delay_ns);
  last_[lane] = node;
  return node;
}

void GraphBuilder::depend(GraphNode node, GraphNode on, Nanos usual_delay_ns) {
  dependencies_.push_back({node, {on, usual_delay_ns}});
}

// Sorts by begin. Nodes that begin at the same time stay in the order in which they were added.
void GraphBuilder::sort_nodes() {
  graph_.order_.resize(graph_.size());
  std::iota(graph_.order_.begin(), graph_.order_.end(), GraphNode{0});
  run_sort(graph_.order_,
           [this](GraphNode a, GraphNode b) { return graph_.begin_ns_[a] < graph_.begin_ns_[b]; });
}

void GraphBuilder::group_edges() {
  std::vector<std::uint32_t> place(graph_.size());
  for (std::size_t i = 0; i < graph_.order_.size(); ++i)
    place[graph_.order_[i]] = static_cast<std::uint32_t>(i);
  const auto holds = [&](const Dependency& one) { return place[one.edge.from] < place[one.node]; };
  std::vector<GraphEdge>& first = graph_.first_edge_;
  first.assign(graph_.size() + 1, 0);
  for (const Dependency& one : dependencies_) {
    if (holds(one)) {
      ++first[one.node + 1];
    } else {
      ++graph_.contradictions_;
    }
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  graph_.edges_.resize(first.back());
  std::vector<GraphEdge> next(first.begin(), first.end() - 1);
  for (const Dependency& one : dependencies_)
    if (holds(one)) graph_.edges_[next[one.node]++] = one.edge;
}

void GraphBuilder::fit_delays(GraphNode node) {
  const Nanos begin_ns = graph_.begin_ns_[node];
  Graph::Edge* latest = nullptr;
  Nanos latest_ns = 0;
  for (GraphEdge at = graph_.first_edge_[node]; at < graph_.first_edge_[node + 1]; ++at) {
    Graph::Edge& edge = graph_.edges_[at];
    const Nanos from_ns = graph_.begin_ns_[edge.from];
    const Nanos usual_ns = after(from_ns, graph_.duration_ns_[edge.from], edge.delay_ns);
    const Nanos time_ns = std::min(usual_ns, begin_ns);
    edge.delay_ns = time_ns - graph_.end_ns(edge.from);
    if (latest != nullptr && time_ns <= latest_ns) continue;
    latest = &edge;
    latest_ns = time_ns;
  }
  if (latest != nullptr) latest->delay_ns = begin_ns - graph_.end_ns(latest->from);
}

Graph GraphBuilder::build() && {
  sort_nodes();
  group_edges();
  dependencies_ = {};
  for (GraphNode node = 0; node < graph_.size(); ++node) fit_delays(node);
  return std::move(graph_);
}

Replay replay(const Graph& graph) {
  return replay(graph, graph.durations());
}

Replay replay(const Graph& graph, std::vector<Nanos> durations, const std::vector<bool>& without,
              const std::vector<Nanos>& most_delays) {
  Replay out;
  out.duration_ns = std::move(durations);
  out.begin_ns.resize(graph.size());
  out.cause.assign(graph.size(), kNoEdge);
  bool is_first = true;
  for (const GraphNode node : graph.order()) {
    Nanos begin_ns = graph.begin_ns(node);
    GraphEdge cause = kNoEdge;
    GraphEdge at = graph.first_edge(node);
    for (const Graph::Edge& edge : graph.incoming(node)) {
      const GraphEdge number = at++;
      if (!without.empty() && without[number]) continue;
      const Nanos delay_ns =
          most_delays.empty() ? edge.delay_ns : std::min(edge.delay_ns, most_delays[node]);
      const Nanos time_ns = after(out.begin_ns[edge.from], out.duration_ns[edge.from], delay_ns);
      if (cause != kNoEdge && time_ns <= begin_ns) continue;
      begin_ns = time_ns;
      cause = number;
    }
    out.begin_ns[node] = begin_ns;
    out.cause[node] = cause;
    const Nanos end_ns = after(begin_ns, out.duration_ns[node], 0);
    out.first_ns = is_first ? begin_ns : std::min(out.first_ns, begin_ns);
    out.end_ns = is_first ? end_ns : std::max(out.end_ns, end_ns);
    is_first = false;
  }
  return out;
}

std::vector<PathPart> path_to(const Graph& graph, const Replay& times, GraphNode node) {
  std::vector<PathPart> parts;
  while (node != kNoNode) {
    const GraphEdge cause = times.cause[node];
    const GraphNode from = cause == kNoEdge ? kNoNode : graph.edge(cause).from;
    const Nanos delay_ns = from == kNoNode ? 0 : times.begin_ns[node] - times.end_of(from);
    parts.push_back({node, delay_ns});
    node = from;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<PathPart> critical_path(const Graph& graph, const Replay& times) {
  GraphNode last = kNoNode;
  for (const GraphNode node : graph.order())
    if (last == kNoNode || times.end_of(node) >= times.end_of(last)) last = node;
  return path_to(graph, times, last);
}

}  // namespace sonde::detail
