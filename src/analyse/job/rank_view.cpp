// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/job/rank_view.h"

#include <algorithm>

#include "base/run_sort.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

struct ThreadUse {
  TrackId track;
  std::size_t spans = 0;
  std::size_t steps = 0;
  std::size_t calls = 0;
  std::size_t operators = 0;
  std::size_t collectives = 0;
  bool runs_backward = false;
  bool works_otherwise = false;  // an operator that no collective is around
};

ThreadUse use_of(const Trace& trace, TrackId track, std::vector<SpanId>& collectives) {
  ThreadUse use{.track = track};
  const SpanTable& spans = trace.spans();
  Nanos busy_until = INT64_MIN;
  for (const SpanId span : trace.track_spans(track)) {
    ++use.spans;
    const SpanKind kind = spans.kind[span];
    if (kind == SpanKind::Step) ++use.steps;
    if (is_call(kind)) ++use.calls;
    if (is_operator(kind)) ++use.operators;
    use.runs_backward |= trace.name(span).starts_with(kEvaluateFunction);
    if (is_annotation(kind) && is_host_collective(trace.name(span))) {
      ++use.collectives;
      collectives.push_back(span);
      busy_until = std::max(busy_until, trace.end_ns(span));
    } else if (is_operator(kind) && spans.start_ns[span] >= busy_until) {
      use.works_otherwise = true;
    }
  }
  return use;
}

}  // namespace

RankView::RankView(const Trace& whole, ProcessId of) : trace(whole), process(of) {
  sort_threads();
  sort_work();
}

void RankView::sort_threads() {
  const TrackTable& tracks = trace.tracks();
  ThreadUse best;
  for (std::size_t row = 0; row < tracks.size(); ++row) {
    if (tracks.kind[row] != TrackKind::Thread || tracks.process[row] != process) continue;
    const ThreadUse use = use_of(trace, TrackId(row), host_collectives);
    if (use.spans == 0) continue;
    if (use.collectives > 0 && use.steps == 0 && !use.works_otherwise) {
      workers.push_back(use.track);
      continue;
    }
    threads.push_back(use.track);
    // Threads of the backward pass may make more calls than the one that waits for them, and
    // watchdogs ask the device all the time.
    const auto rank = [](const ThreadUse& u) {
      return std::tuple(u.steps, !u.runs_backward, u.operators, u.calls, u.spans);
    };
    if (!best.track.valid() || rank(use) > rank(best)) best = use;
  }
  main = best.track;
  std::stable_sort(host_collectives.begin(), host_collectives.end(), [&](SpanId a, SpanId b) {
    return trace.spans().start_ns[a] < trace.spans().start_ns[b];
  });
}

void RankView::sort_work() {
  Communication communicates(trace);
  for (const DeviceWork& device : device_work(trace)) {
    if (device.process != process) continue;
    for (const Work& work : device.work) {
      if (is_copy(trace.spans().kind[work.span])) {
        copies.push_back(work);
      } else if (communicates.is(work.span)) {
        communication.push_back(work);
      } else {
        kernels.push_back(work);
      }
    }
  }
  const auto earlier = [](const Work& a, const Work& b) { return a.begin_ns < b.begin_ns; };
  run_sort(kernels, earlier);  // of several devices
  run_sort(copies, earlier);
  run_sort(communication, earlier);
  for (const Work& work : kernels) computing.add(work.begin_ns, work.end_ns);
}

std::uint32_t SummaryTexts::place(StringId id) {
  if (!id.valid()) return RankActivity::kNone;
  const auto [found, is_new] = by_id_.try_emplace(id.value(), 0);
  if (is_new) found->second = place(trace_.string(id));
  return found->second;
}

std::uint32_t SummaryTexts::place(std::string_view text) {
  const auto [found, is_new] =
      by_text_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.emplace_back(text);
  return found->second;
}

}  // namespace sonde::detail
