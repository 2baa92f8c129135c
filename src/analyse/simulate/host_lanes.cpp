// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/simulate/host_lanes.h"

#include <algorithm>
#include <map>

#include "base/run_sort.h"
#include "base/sum.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// A thread that runs no operator for less than this is still at work.
constexpr Nanos kShortestIdleNs = 50'000;
// The main thread waits for another one if it runs no operator for at least this long …
constexpr Nanos kShortestHandoverNs = 20'000;
// … the other is busy for half of that time, and it continues this soon after the other has
// finished.
constexpr Nanos kLongestReturnNs = 200'000;

// A tenth of what the busiest thread does.
constexpr Nanos kFairShare = 10;

bool nests(const Trace& trace, SpanId span) {
  const SpanKind kind = trace.spans().kind[span];
  return (trace.spans().flags[span] & SpanFlags::kAsync) == 0 && kind != SpanKind::TraceSpan &&
         !is_launched(kind);
}

bool has_operators(const Trace& trace) {
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = trace.spans().kind[span];
    if (is_operator(kind) || is_call(kind)) return true;
  }
  return false;
}

std::vector<IdleGap> gaps_between(const Coverage& busy) {
  std::vector<IdleGap> gaps;
  const auto& stretches = busy.stretches();
  for (std::size_t i = 1; i < stretches.size(); ++i) {
    const Nanos begin_ns = stretches[i - 1].end_ns;
    const Nanos end_ns = stretches[i].begin_ns;
    if (end_ns - begin_ns >= kShortestHandoverNs) gaps.push_back({begin_ns, end_ns, 0, {}, 0});
  }
  return gaps;
}

// The busy intervals, with short gaps closed.
std::vector<Coverage::Stretch> merged(const Coverage& busy) {
  std::vector<Coverage::Stretch> out;
  for (const Coverage::Stretch& one : busy.stretches()) {
    if (!out.empty() && one.begin_ns - out.back().end_ns < kShortestIdleNs) {
      out.back().end_ns = one.end_ns;
    } else {
      out.push_back(one);
    }
  }
  return out;
}

std::vector<IdleGap>::iterator gap_at(std::vector<IdleGap>& gaps, Nanos time_ns) {
  const auto found =
      std::lower_bound(gaps.begin(), gaps.end(), time_ns,
                       [](const IdleGap& gap, Nanos time) { return gap.end_ns < time; });
  return found != gaps.end() && found->begin_ns <= time_ns ? found : gaps.end();
}

bool is_handover(const IdleGap& gap) {
  if (gap.is_backward) return true;
  const Nanos length_ns = gap.end_ns - gap.begin_ns;
  return gap.last.valid() && gap.busy_ns >= length_ns / 2 &&
         gap.end_ns - gap.last_ns <= std::max(kLongestReturnNs, length_ns / 5);
}

}  // namespace

HostLanes::HostLanes(const Trace& trace, const HostCalls& calls)
    : trace_(trace), lanes_(trace.tracks().size()) {
  look_at_threads(has_operators(trace));
  find_mains();
  add_waits(calls);
  for (std::size_t row = 0; row < mains_.size(); ++row)
    if (mains_[row].valid()) find_handovers(ProcessId(row), mains_[row]);
}

void HostLanes::look_at_threads(bool only_operators) {
  const SpanTable& spans = trace_.spans();
  std::vector<bool> communicates(trace_.strings().size());
  for (std::size_t i = 0; i < communicates.size(); ++i)
    communicates[i] = communicates_on_host(trace_.string(StringId(i)));
  std::vector<bool> is_gradient(trace_.strings().size());
  for (std::size_t i = 0; i < is_gradient.size(); ++i)
    is_gradient[i] = trace_.string(StringId(i)).starts_with(kEvaluateFunction);
  const auto is_collective = [&](SpanId span) {
    const StringId name = spans.name[span];
    return name.valid() && communicates[name.index()];
  };
  for (std::size_t row = 0; row < lanes_.size(); ++row) {
    if (trace_.tracks().kind[row] != TrackKind::Thread) continue;
    Lane& lane = lanes_[row];
    for (const SpanId span : trace_.track_spans(TrackId(row))) {
      if (!nests(trace_, span)) continue;
      if (!lane.has_spans) lane.begin_ns = spans.start_ns[span];
      lane.has_spans = true;
      lane.end_ns = std::max(lane.end_ns, trace_.end_ns(span));
      const SpanKind kind = spans.kind[span];
      const StringId name = spans.name[span];
      lane.has_gradients |= name.valid() && is_gradient[name.index()];
      if (kind == SpanKind::Step) lane.cuts.push_back(spans.start_ns[span]);
      if (kind == SpanKind::Step) lane.cuts.push_back(trace_.end_ns(span));
      if (!only_operators || is_operator(kind) || is_call(kind) || is_collective(span))
        lane.busy.add(spans.start_ns[span], trace_.end_ns(span));
    }
  }
}

// A thread with steps is the main one. Otherwise it is the thread that the process began with, if
// that runs a fair share of the operators (gradients run on a separate thread, and may be most of
// the work).
void HostLanes::find_mains() {
  struct Weight {
    bool has_steps = false;
    Nanos busy_ns = -1;
  };
  std::vector<Weight> best(trace_.processes().size());
  std::vector<TrackId> first(trace_.processes().size());
  mains_.resize(trace_.processes().size());
  for (std::size_t row = 0; row < lanes_.size(); ++row) {
    const Lane& lane = lanes_[row];
    const ProcessId process = trace_.tracks().process[row];
    if (!lane.has_spans || !process.valid()) continue;
    if (trace_.tracks().id[row] == trace_.processes().pid[process])
      first[process.index()] = TrackId(row);
    const Weight weight{!lane.cuts.empty(), lane.busy.total_ns()};
    Weight& most = best[process.index()];
    const bool is_more =
        weight.has_steps != most.has_steps ? weight.has_steps : weight.busy_ns > most.busy_ns;
    if (!is_more) continue;
    most = weight;
    mains_[process.index()] = TrackId(row);
  }
  for (std::size_t row = 0; row < first.size(); ++row) {
    if (!first[row].valid() || best[row].has_steps) continue;
    if (lanes_[first[row].index()].busy.total_ns() >= best[row].busy_ns / kFairShare)
      mains_[row] = first[row];
  }
}

TrackId HostLanes::main_of(ProcessId process) const {
  return process.valid() ? mains_[process.index()] : TrackId();
}

void HostLanes::add_waits(const HostCalls& calls) {
  for (const SpanId call : calls.waits()) {
    const TrackId track = trace_.spans().track[call];
    if (!track.valid() || !lanes_[track.index()].has_spans) continue;
    lanes_[track.index()].holes.push_back(
        {trace_.spans().start_ns[call], trace_.end_ns(call), call});
  }
}

// Finds when the thread has nothing to do, as far as the trace shows.
void HostLanes::find_idle(TrackId thread) {
  Lane& lane = lanes_[thread.index()];
  const std::vector<Coverage::Stretch> stretches = merged(lane.busy);
  for (std::size_t i = 1; i < stretches.size(); ++i)
    lane.holes.push_back({stretches[i - 1].end_ns, stretches[i].begin_ns, {}});
}

std::vector<HostLanes::Busy> HostLanes::busy_threads(ProcessId process) const {
  std::vector<Busy> all;
  for (std::size_t row = 0; row < lanes_.size(); ++row)
    if (lanes_[row].has_spans && trace_.tracks().process[row] == process)
      all.push_back({TrackId(row), merged(lanes_[row].busy)});
  return all;
}

// In which gaps of one thread the others worked, and who was done last.
void HostLanes::find_workers(const std::vector<Busy>& threads, TrackId waiting,
                             std::vector<IdleGap>& gaps) {
  for (const auto& [thread, stretches] : threads) {
    if (thread == waiting) continue;
    for (const Coverage::Stretch& one : stretches) {
      auto gap = std::lower_bound(gaps.begin(), gaps.end(), one.begin_ns,
                                  [](const IdleGap& a, Nanos time) { return a.end_ns < time; });
      for (; gap != gaps.end() && gap->begin_ns < one.end_ns; ++gap) {
        add_to(gap->busy_ns,
               std::min(one.end_ns, gap->end_ns) - std::max(one.begin_ns, gap->begin_ns));
        if (one.end_ns > gap->end_ns || (gap->last.valid() && one.end_ns <= gap->last_ns)) continue;
        gap->last = thread;
        gap->last_ns = one.end_ns;
        gap->is_backward = lanes_[thread.index()].has_gradients && one.begin_ns >= gap->begin_ns;
      }
    }
  }
  gaps.erase(std::remove_if(gaps.begin(), gaps.end(),
                            [](const IdleGap& gap) { return !is_handover(gap); }),
             gaps.end());
  for (const IdleGap& gap : gaps) {
    handovers_.push_back({waiting, gap.begin_ns, gap.end_ns, gap.last, gap.last_ns});
    cut(gap.last, gap.last_ns);
  }
}

void HostLanes::find_handovers(ProcessId process, TrackId main) {
  const std::vector<Busy> threads = busy_threads(process);
  std::vector<IdleGap> gaps = gaps_between(lanes_[main.index()].busy);
  find_workers(threads, main, gaps);
  for (const IdleGap& gap : gaps)
    lanes_[main.index()].holes.push_back({gap.begin_ns, gap.end_ns, {}});
  for (const auto& [thread, stretches] : threads) {
    if (thread == main) continue;
    for (const Coverage::Stretch& one : stretches) {
      const auto gap = gap_at(gaps, one.begin_ns);
      if (gap != gaps.end()) wakeups_.push_back({thread, one.begin_ns, main, gap->begin_ns});
    }
    find_idle(thread);
    std::vector<IdleGap> idle;
    for (std::size_t i = 1; i < stretches.size(); ++i)
      idle.push_back({stretches[i - 1].end_ns, stretches[i].begin_ns, 0, {}, 0});
    find_workers(threads, thread, idle);
  }
}

// Sorts holes and separates them: if holes overlap, the first keeps its length.
void HostLanes::sort_holes() {
  for (Lane& lane : lanes_) {
    run_sort(lane.holes, [](const HostHole& a, const HostHole& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    std::vector<HostHole> apart;
    for (HostHole hole : lane.holes) {
      hole.begin_ns = std::max(hole.begin_ns, apart.empty() ? lane.begin_ns : apart.back().end_ns);
      hole.end_ns = std::min(hole.end_ns, lane.end_ns);
      if (hole.begin_ns < hole.end_ns) apart.push_back(hole);
    }
    lane.holes = std::move(apart);
  }
}

void HostLanes::finish() {
  sort_holes();
  for (Lane& lane : lanes_) {
    run_sort(lane.cuts, [](Nanos a, Nanos b) { return a < b; });
    lane.cuts.erase(std::unique(lane.cuts.begin(), lane.cuts.end()), lane.cuts.end());
  }
}

std::vector<HostStint> HostLanes::stints(TrackId thread) const {
  const Lane& lane = lanes_[thread.index()];
  std::vector<HostStint> out;
  if (!lane.has_spans) return out;
  auto next_cut = lane.cuts.begin();
  HostStint stint{lane.begin_ns, lane.begin_ns, false, {}};
  const auto fill_until = [&](Nanos end_ns) {
    for (; next_cut != lane.cuts.end() && *next_cut < end_ns; ++next_cut) {
      if (*next_cut <= stint.begin_ns) continue;
      stint.end_ns = *next_cut;
      out.push_back(stint);
      stint = {*next_cut, *next_cut, false, {}};
    }
    stint.end_ns = end_ns;
    if (stint.end_ns > stint.begin_ns || stint.is_after_hole || out.empty()) out.push_back(stint);
  };
  for (const HostHole& hole : lane.holes) {
    fill_until(hole.begin_ns);
    stint = {hole.end_ns, hole.end_ns, true, hole.call};
  }
  fill_until(lane.end_ns);
  return out;
}

}  // namespace sonde::detail
