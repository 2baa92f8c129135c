// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <limits>
#include <tuple>

#include "analyse/simulate/program.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

Nanos scaled_ns(Nanos time_ns, double left) {
  constexpr double kMost = 9e18;
  return static_cast<Nanos>(std::min(static_cast<double>(time_ns) * left, kMost));
}

}  // namespace

void Changes::cut(TrackId thread, Nanos begin_ns, Nanos end_ns, double left) {
  if (thread.valid() && begin_ns < end_ns)
    cuts_.push_back({thread.value(), begin_ns, end_ns, left});
}

void Changes::scale(SpanId work, double left) {
  const GraphNode node = program_.node_of(work);
  if (node == kNoNode) return;
  works_.push_back({node, left});
  if (left <= 0) delays_.emplace_back(node, 0);
}

void Changes::follow(SpanId work, Nanos delay_ns) {
  const GraphNode node = program_.node_of(work);
  if (node != kNoNode) delays_.emplace_back(node, delay_ns);
}

// Of a hole in which the thread waited for something that the trace does not show, what is cut is
// gone.
void Changes::shorten_holes(std::vector<Nanos>& most) const {
  const Graph& graph = program_.graph_;
  for (const Cut& cut : cuts_) {
    const auto [first, last] = program_.stints(TrackId(cut.thread));
    GraphNode low = first;
    for (GraphNode high = last; low < high;) {
      const GraphNode middle = low + (high - low) / 2;
      if (graph.begin_ns(middle) <= cut.begin_ns) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    for (GraphNode node = std::max(low, first + 1); node < last; ++node) {
      Nanos hole_ns = graph.begin_ns(node);
      take_from(hole_ns, graph.end_ns(node - 1));
      if (graph.end_ns(node - 1) >= cut.end_ns) break;
      Nanos both_ns = std::min(cut.end_ns, graph.begin_ns(node));
      take_from(both_ns, std::max(cut.begin_ns, graph.end_ns(node - 1)));
      if (both_ns <= 0) continue;
      if (most.empty()) most.resize(graph.size(), std::numeric_limits<Nanos>::max());
      most[node] = std::max<Nanos>(
          std::min(most[node], hole_ns) - (both_ns - scaled_ns(both_ns, cut.left)), 0);
    }
  }
}

std::vector<Nanos> Changes::most_delays() const {
  std::vector<Nanos> most;
  shorten_holes(most);
  if (delays_.empty()) return most;
  if (most.empty()) most.resize(program_.graph_.size(), std::numeric_limits<Nanos>::max());
  for (const auto& [node, delay_ns] : delays_) most[node] = std::min(most[node], delay_ns);
  return most;
}

void Changes::no_wait(SpanId call) {
  const auto& waits = program_.waits_;
  const auto at = std::lower_bound(
      waits.begin(), waits.end(), call.value(),
      [](const Program::Wait& wait, std::uint32_t row) { return wait.call < row; });
  if (at != waits.end() && at->call == call.value()) calls_.push_back(at->stint);
}

void Changes::no_waits() {
  for (const Program::Wait& wait : program_.waits_) calls_.push_back(wait.stint);
}

void Changes::scale_call(SpanId span, double left) {
  const Trace& trace = program_.trace_;
  cut(trace.spans().track[span], trace.spans().start_ns[span], trace.end_ns(span), left);
  if (!is_call(trace.spans().kind[span]))
    for (const Launch& launch : program_.launches_.below(span)) scale(launch.work, left);
  if (left > 0) return;
  const std::uint32_t end = rows_end(trace, span);
  auto at = std::lower_bound(
      program_.waits_.begin(), program_.waits_.end(), span.value(),
      [](const Program::Wait& wait, std::uint32_t row) { return wait.call < row; });
  for (; at != program_.waits_.end() && at->call < end; ++at) calls_.push_back(at->stint);
}

// Stints and cuts are both in order of time: one pass over each.
void Changes::shorten_stints(std::vector<Nanos>& durations) const {
  std::vector<Cut> cuts = cuts_;
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) {
    return std::tie(a.thread, a.begin_ns, b.end_ns) < std::tie(b.thread, b.begin_ns, a.end_ns);
  });
  const Graph& graph = program_.graph_;
  GraphNode node = 0;
  std::uint32_t thread = 0xffffffff;
  Nanos done_ns = 0;  // up to where the thread's time is changed
  for (Cut cut : cuts) {
    const auto [first, last] = program_.stints(TrackId(cut.thread));
    if (cut.thread != thread) {
      node = first;
    } else {
      cut.begin_ns = std::max(cut.begin_ns, done_ns);
    }
    done_ns = cut.thread == thread ? std::max(done_ns, cut.end_ns) : cut.end_ns;
    thread = cut.thread;
    while (node < last && graph.end_ns(node) <= cut.begin_ns) ++node;
    for (GraphNode at = node; at < last && graph.begin_ns(at) < cut.end_ns; ++at) {
      const Nanos both_ns =
          std::min(cut.end_ns, graph.end_ns(at)) - std::max(cut.begin_ns, graph.begin_ns(at));
      if (both_ns > 0) durations[at] += scaled_ns(both_ns, cut.left) - both_ns;
    }
  }
  for (Nanos& duration_ns : durations) duration_ns = std::max<Nanos>(duration_ns, 0);
}

std::vector<Nanos> Changes::durations() const {
  std::vector<Nanos> durations = program_.graph_.durations();
  shorten_stints(durations);
  if (program_.host_left_ < 1)
    for (GraphNode node = 0; node < program_.first_stint_.back(); ++node)
      if (program_.graph_.begin_ns(node) >= program_.corrected_from_ns_ &&
          program_.graph_.begin_ns(node) < program_.corrected_to_ns_)
        durations[node] = scaled_ns(durations[node], program_.host_left_);
  for (const Scaled& one : works_)
    durations[one.node] = scaled_ns(program_.graph_.duration_ns(one.node), one.left);
  return durations;
}

// Edges from device work to the stints after calls that do not wait any more.
std::vector<bool> Changes::without() const {
  std::vector<bool> without;
  if (calls_.empty()) return without;
  const Graph& graph = program_.graph_;
  const GraphNode first_work = program_.first_stint_.back();
  without.resize(graph.edge_count());
  for (const GraphNode stint : calls_) {
    GraphEdge edge = graph.first_edge(stint);
    for (const Graph::Edge& one : graph.incoming(stint)) without[edge++] = one.from >= first_work;
  }
  return without;
}

}  // namespace sonde::detail
