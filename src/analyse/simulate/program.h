// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A trace as a graph of what waited for what, and how long it would take if something in it were
// different.
//
//   const Program program(trace);
//   Changes changes(program);
//   changes.remove(op);                        // as if it had not been called
//   const Nanos saved_ns = program.recorded_ns() - program.length_ns(changes);
//
// Who waits for whom:
// - a thread runs in order; what it does between spans takes its time too;
// - device work begins after its launch, and after the work before it on its stream;
// - work that began later than both explain waits for what ended last on another stream;
// - a call that waits for a device returns after the work that ended last before it returned;
// - a thread that runs no operator while another does waits for that one to be done; the main
// thread
//   woke it.
//
// With nothing changed, a replay gives the recorded times exactly. Times count until the main
// thread of each process and its devices are done. The program must not outlive the trace.

#include <cstdint>
#include <utility>
#include <vector>

#include "analyse/simulate/graph.h"
#include "analyse/time/host_calls.h"
#include "analyse/time/launches.h"
#include "sonde/trace.h"

namespace sonde::detail {

class HostLanes;
class Changes;

class Program {
 public:
  explicit Program(const Trace& trace);
  Program(const Trace& trace, const HostCalls& calls);

  const Trace& trace() const noexcept { return trace_; }
  const Graph& graph() const noexcept { return graph_; }
  const Launches& launches() const noexcept { return launches_; }

  // From the first begin to the last end.
  Nanos recorded_ns() const noexcept { return recorded_ns_; }
  // From now on, only this share of host time counts within a part of the trace; the profiler took
  // the rest. Compare lengths of changes with length_ns(Changes(program)).
  void correct_host(double left, Nanos from_ns, Nanos to_ns) noexcept {
    host_left_ = left;
    corrected_from_ns_ = from_ns;
    corrected_to_ns_ = to_ns;
  }
  Nanos length_ns(const Changes& changes) const;
  Nanos length_ns(const Replay& times) const;
  Replay replayed(const Changes& changes) const;
  // The node that ends last.
  GraphNode last_node(const Replay& times) const;

  TrackId track(GraphNode node) const { return TrackId(graph_.lane(node)); }
  // The device work of a node; invalid if the node is a stint of a thread.
  SpanId work(GraphNode node) const;
  GraphNode node_of(SpanId work) const;
  // The stints of a thread, from the first to one past the last.
  std::pair<GraphNode, GraphNode> stints(TrackId thread) const {
    return {first_stint_[thread.index()], first_stint_[thread.index() + 1]};
  }
  // When a thread would reach what it did at a recorded time.
  Nanos time_ns(const Replay& times, TrackId thread, Nanos recorded_ns) const;
  TrackId main_thread() const noexcept { return main_; }

 private:
  friend class Changes;
  class Maker;

  struct Wait {
    std::uint32_t call;  // row of a span
    GraphNode stint;     // after it
  };

  const Trace& trace_;
  const Launches launches_;
  Graph graph_;
  std::vector<GraphNode> first_stint_;    // of each track, then the end
  std::vector<std::uint32_t> work_rows_;  // of spans, ascending; their nodes follow the stints
  std::vector<Wait> waits_;               // by call
  std::vector<bool> is_counted_;          // of each lane: whether its end counts
  TrackId main_;
  Nanos recorded_ns_ = 0;
  double host_left_ = 1;
  Nanos corrected_from_ns_ = 0;
  Nanos corrected_to_ns_ = 0;
};

// What would be different. If two changes affect the same time of a thread, it changes once.
class Changes {
 public:
  explicit Changes(const Program& program) : program_(program) {}

  // This share of a thread's time is left; 0: none.
  void cut(TrackId thread, Nanos begin_ns, Nanos end_ns, double left = 0);
  // The same for device work. With 0 it also begins at once.
  void scale(SpanId work, double left);
  // The work begins at most this long after what it waits for.
  void follow(SpanId work, Nanos delay_ns);
  // The call does not wait for a device.
  void no_wait(SpanId call);
  void no_waits();
  // As if the span of a thread, and the device work that it launched, took this much of their
  // time. With 0 it also does not wait. A call of a device's runtime stands for itself alone.
  void scale_call(SpanId span, double left);
  void remove(SpanId span) { scale_call(span, 0); }

  bool empty() const noexcept {
    return cuts_.empty() && works_.empty() && calls_.empty() && delays_.empty();
  }

 private:
  friend class Program;
  struct Cut {
    std::uint32_t thread;
    Nanos begin_ns;
    Nanos end_ns;
    double left;
  };
  struct Scaled {
    GraphNode node;
    double left;
  };

  std::vector<Nanos> durations() const;
  std::vector<bool> without() const;
  std::vector<Nanos> most_delays() const;
  void shorten_holes(std::vector<Nanos>& most) const;
  void shorten_stints(std::vector<Nanos>& durations) const;

  const Program& program_;
  std::vector<Cut> cuts_;
  std::vector<Scaled> works_;
  std::vector<std::pair<GraphNode, Nanos>> delays_;
  std::vector<GraphNode> calls_;  // stints after calls that do not wait
};

}  // namespace sonde::detail
