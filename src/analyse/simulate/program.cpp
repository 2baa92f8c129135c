// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/simulate/program.h"

#include <algorithm>
#include <map>

#include "analyse/simulate/host_lanes.h"
#include "analyse/time/device_work.h"
#include "base/run_sort.h"

namespace sonde::detail {
namespace {

// Where the trace has no examples.
constexpr Nanos kLaunchDelayNs = 3'000;
constexpr Nanos kNextWorkDelayNs = 1'000;
// How long a call takes that has nothing to wait for.
constexpr Nanos kWaitCallNs = 2'000;
// A device's delay between one kernel or copy and the next; longer ones have a reason.
constexpr Nanos kLongestNextWorkDelayNs = 30'000;
// Work that began this much later than its launch and its stream explain waited for something else.
constexpr Nanos kUnexplainedNs = 5'000;
// … for work that ended at most so long before.
constexpr Nanos kLongestEventDelayNs = 20'000;
// How far a device's clock may be from the host's.
constexpr Nanos kClockSlackNs = 2'000;

// The lower one of two in the middle: what took longer may have waited for something else.
Nanos usual_or(std::vector<Nanos>& values, Nanos otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

class Program::Maker {
 public:
  Maker(Program& program, const HostCalls& calls)
      : program_(program), trace_(program.trace_), spans_(trace_.spans()), lanes_(trace_, calls) {}

  void make() {
    cut_at_launches();
    lanes_.finish();
    add_stints();
    find_usual_delays();
    add_work();
    join_streams();
    join_waits();
    join_threads();
    program_.graph_ = std::move(builder_).build();
    choose_lanes();
  }

 private:
  struct End {
    Nanos end_ns;
    Nanos launch_ns;
    GraphNode node;
  };

  bool is_lane_of_work(std::size_t track) const {
    return trace_.tracks().kind[track] != TrackKind::Thread;
  }
  // The thread that launched it; invalid: not known.
  TrackId launcher(SpanId work) const {
    const SpanId launch = spans_.launch[work];
    const TrackId track = launch.valid() ? spans_.track[launch] : TrackId();
    const bool is_thread = track.valid() && trace_.tracks().kind[track] == TrackKind::Thread;
    return is_thread ? track : TrackId();
  }

  void cut_at_launches() {
    for (const Launch& launch : program_.launches_.all()) {
      const TrackId thread = launcher(launch.work);
      if (thread.valid()) lanes_.cut(thread, spans_.start_ns[launch.host]);
    }
  }

  void add_stints() {
    std::vector<GraphNode>& first = program_.first_stint_;
    for (std::size_t row = 0; row < trace_.tracks().size(); ++row) {
      first.push_back(static_cast<GraphNode>(builder_.size()));
      if (is_lane_of_work(row)) continue;
      for (const HostStint& stint : lanes_.stints(TrackId(row))) {
        const Nanos usual_ns = stint.call.valid() ? kWaitCallNs : 0;
        const GraphNode node = builder_.add(static_cast<std::uint32_t>(row), stint.begin_ns,
                                            stint.end_ns - stint.begin_ns, usual_ns);
        begins_.push_back(stint.begin_ns);
        if (stint.call.valid()) program_.waits_.push_back({stint.call.value(), node});
      }
    }
    first.push_back(static_cast<GraphNode>(builder_.size()));
    std::sort(program_.waits_.begin(), program_.waits_.end(),
              [](const Wait& a, const Wait& b) { return a.call < b.call; });
  }

  // The stint that had ended by this time; kNoNode if there is none.
  GraphNode stint_until(TrackId thread, Nanos time_ns) const {
    const auto [first, last] = program_.stints(thread);
    const auto at = std::lower_bound(begins_.begin() + first, begins_.begin() + last, time_ns);
    const auto node = static_cast<GraphNode>(at - begins_.begin());
    // Between two waits that follow each other at once there is a stint of no length.
    if (node < last && begins_[node] == time_ns && builder_.end_ns(node) == time_ns) return node;
    return node == first ? kNoNode : node - 1;
  }
  GraphNode stint_from(TrackId thread, Nanos time_ns) const {
    const auto [first, last] = program_.stints(thread);
    const auto at = std::lower_bound(begins_.begin() + first, begins_.begin() + last, time_ns);
    const auto node = static_cast<GraphNode>(at - begins_.begin());
    return node == last ? kNoNode : node;
  }

  template <typename Visit>
  void for_work(Visit visit) const {
    for (std::size_t row = 0; row < trace_.tracks().size(); ++row) {
      if (!is_lane_of_work(row)) continue;
      for (const SpanId span : trace_.track_spans(TrackId(row)))
        if (keeps_busy(trace_, span)) visit(static_cast<std::uint32_t>(row), span);
    }
  }

  // From launch to begin on an idle stream, and from one kernel or copy to the next on a busy one.
  void find_usual_delays() {
    std::vector<Nanos> after_launch;
    std::vector<Nanos> after_work;
    std::uint32_t lane = 0xffffffff;
    Nanos before_ns = 0;
    for_work([&](std::uint32_t track, SpanId span) {
      const bool is_first = track != lane;
      const Nanos begin_ns = spans_.start_ns[span];
      if (launcher(span).valid()) {
        const Nanos launch_ns = spans_.start_ns[spans_.launch[span]];
        if ((is_first || before_ns <= launch_ns) && begin_ns >= launch_ns)
          after_launch.push_back(begin_ns - launch_ns);
        const Nanos delay_ns = begin_ns - before_ns;
        if (!is_first && launch_ns + kLaunchDelayNs < before_ns && delay_ns >= 0 &&
            delay_ns < kLongestNextWorkDelayNs)
          after_work.push_back(delay_ns);
      }
      before_ns = is_first ? trace_.end_ns(span) : std::max(before_ns, trace_.end_ns(span));
      lane = track;
    });
    launch_delay_ns_ = usual_or(after_launch, kLaunchDelayNs);
    next_delay_ns_ = usual_or(after_work, kNextWorkDelayNs);
  }

  void add_work() {
    ends_.resize(trace_.processes().size() + 1);
    for_work([&](std::uint32_t track, SpanId span) {
      const Nanos begin_ns = spans_.start_ns[span];
      const GraphNode node =
          builder_.add(track, begin_ns, spans_.duration_ns[span], next_delay_ns_);
      program_.work_rows_.push_back(span.value());
      Nanos launch_ns = begin_ns;
      if (const TrackId thread = launcher(span); thread.valid()) {
        launch_ns = spans_.start_ns[spans_.launch[span]];
        const GraphNode stint = stint_until(thread, launch_ns);
        if (stint != kNoNode) builder_.depend(node, stint, launch_delay_ns_);
      }
      ends_[process_at(track)].push_back({trace_.end_ns(span), launch_ns, node});
    });
    for (std::vector<End>& ends : ends_)
      run_sort(ends, [](const End& a, const End& b) { return a.end_ns < b.end_ns; });
  }

  std::size_t process_at(std::size_t track) const {
    const ProcessId process = trace_.tracks().process[track];
    return process.valid() ? process.index() : trace_.processes().size();
  }

  void join_streams() {
    const auto first = static_cast<GraphNode>(begins_.size());
    std::uint32_t lane = 0xffffffff;
    Nanos before_ns = 0;
    for (std::size_t i = 0; i < program_.work_rows_.size(); ++i) {
      const SpanId span(program_.work_rows_[i]);
      const std::uint32_t track = spans_.track[span].value();
      const Nanos begin_ns = spans_.start_ns[span];
      Nanos explained_ns = track == lane ? before_ns + next_delay_ns_ : begin_ns;
      if (launcher(span).valid()) {
        const Nanos launched_ns = spans_.start_ns[spans_.launch[span]] + launch_delay_ns_;
        explained_ns = track == lane ? std::max(explained_ns, launched_ns) : launched_ns;
      }
      if (begin_ns - explained_ns > kUnexplainedNs)
        join_event(first + static_cast<GraphNode>(i), track, begin_ns);
      before_ns = track == lane ? std::max(before_ns, trace_.end_ns(span)) : trace_.end_ns(span);
      lane = track;
    }
  }

  // It waited for the work of another stream that ended last before it began.
  void join_event(GraphNode node, std::uint32_t track, Nanos begin_ns) {
    const std::vector<End>& ends = ends_[process_at(track)];
    auto at = std::upper_bound(ends.begin(), ends.end(), begin_ns,
                               [](Nanos time, const End& end) { return time < end.end_ns; });
    for (int tries = 0; tries < 16 && at != ends.begin(); ++tries) {
      --at;
      if (begin_ns - at->end_ns > kLongestEventDelayNs) return;
      const SpanId work(program_.work_rows_[at->node - begins_.size()]);
      if (spans_.track[work].value() == track) continue;
      builder_.depend(node, at->node, next_delay_ns_);
      return;
    }
  }

  void join_waits() {
    for (const Wait& wait : program_.waits_) {
      const SpanId call(wait.call);
      const GraphNode work = awaited(call);
      if (work != kNoNode) builder_.depend(wait.stint, work, kWaitCallNs);
    }
  }

  // Of the work launched before the call or by it, the one that ended last before it returned.
  GraphNode awaited(SpanId call) const {
    const std::vector<End>& ends = ends_[process_at(spans_.track[call].index())];
    const Nanos until_ns = trace_.end_ns(call) + kClockSlackNs;
    auto at = std::upper_bound(ends.begin(), ends.end(), until_ns,
                               [](Nanos time, const End& end) { return time < end.end_ns; });
    for (int tries = 0; tries < 64 && at != ends.begin(); ++tries) {
      --at;
      if (at->launch_ns <= spans_.start_ns[call]) return at->node;
    }
    return kNoNode;
  }

  void join_threads() {
    for (const Handover& one : lanes_.handovers()) {
      const GraphNode resumed = stint_from(one.waiting, one.end_ns);
      const GraphNode done = stint_until(one.working, one.worked_until_ns);
      if (resumed != kNoNode && done != kNoNode) builder_.depend(resumed, done);
    }
    for (const Wakeup& one : lanes_.wakeups()) {
      const GraphNode woken = stint_from(one.woken, one.begin_ns);
      const GraphNode by = stint_until(one.by, one.by_ns);
      if (woken != kNoNode && by != kNoNode) builder_.depend(woken, by);
    }
  }

  // The main threads and all devices; all threads if there is no main one.
  void choose_lanes() {
    std::vector<bool>& counted = program_.is_counted_;
    counted.assign(trace_.tracks().size(), false);
    for (std::size_t row = 0; row < counted.size(); ++row) counted[row] = is_lane_of_work(row);
    Nanos most_ns = -1;
    for (const TrackId main : lanes_.mains()) {
      if (!main.valid()) continue;
      counted[main.index()] = true;
      const auto [first, last] = program_.stints(main);
      if (first == last) continue;
      const Nanos length_ns = program_.graph_.end_ns(last - 1) - program_.graph_.begin_ns(first);
      if (length_ns > most_ns) program_.main_ = main;
      most_ns = std::max(most_ns, length_ns);
    }
  }

  Program& program_;
  const Trace& trace_;
  const SpanTable& spans_;
  HostLanes lanes_;
  GraphBuilder builder_;
  std::vector<Nanos> begins_;           // of the stints
  std::vector<std::vector<End>> ends_;  // of work, by process; those without one last
  Nanos launch_delay_ns_ = kLaunchDelayNs;
  Nanos next_delay_ns_ = kNextWorkDelayNs;
};

Program::Program(const Trace& trace) : Program(trace, HostCalls(trace)) {}

Program::Program(const Trace& trace, const HostCalls& calls) : trace_(trace), launches_(trace) {
  Maker(*this, calls).make();
  recorded_ns_ = length_ns(replay(graph_));
}

SpanId Program::work(GraphNode node) const {
  const GraphNode first = first_stint_.back();
  return node < first ? SpanId() : SpanId(work_rows_[node - first]);
}

GraphNode Program::node_of(SpanId work) const {
  const auto at = std::lower_bound(work_rows_.begin(), work_rows_.end(), work.value());
  if (at == work_rows_.end() || *at != work.value()) return kNoNode;
  return first_stint_.back() + static_cast<GraphNode>(at - work_rows_.begin());
}

Nanos Program::time_ns(const Replay& times, TrackId thread, Nanos recorded_ns) const {
  const auto [first, last] = stints(thread);
  if (first == last) return recorded_ns;
  GraphNode low = first;
  for (GraphNode high = last; low < high;) {
    const GraphNode middle = low + (high - low) / 2;
    if (graph_.begin_ns(middle) < recorded_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == last ? times.end_of(last - 1) : times.begin_ns[low];
}

GraphNode Program::last_node(const Replay& times) const {
  GraphNode last = kNoNode;
  for (const GraphNode node : graph_.order()) {
    if (!is_counted_[graph_.lane(node)]) continue;
    if (last == kNoNode || times.end_of(node) >= times.end_of(last)) last = node;
  }
  return last;
}

Nanos Program::length_ns(const Replay& times) const {
  const GraphNode last = last_node(times);
  return last == kNoNode ? 0 : times.end_of(last) - times.first_ns;
}

Replay Program::replayed(const Changes& changes) const {
  return replay(graph_, changes.durations(), changes.without(), changes.most_delays());
}

Nanos Program::length_ns(const Changes& changes) const {
  return length_ns(replayed(changes));
}

}  // namespace sonde::detail
