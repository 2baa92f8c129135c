// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a rank did at each time. Upper layers hide lower ones.
//
//   kernels        ##....####......
//   copies         ..##....##......
//   operators      ####.#....##....   on the main thread and on those of the backward pass
//   collectives    ......######....
//   the rest       ################   ranges, waits, steps of the main thread

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyse/job/rank_view.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Shorter gaps between two kernels are due to the device.
constexpr Nanos kDeviceGapNs = 5'000;
// A rank of a job has a few thousand in a second.
constexpr std::size_t kMostInDetail = 20'000;

using Layer = std::vector<RankActivity>;  // by begin, not overlapping

void append(Layer& layer, RankActivity next) {
  if (!layer.empty()) next.begin_ns = std::max(next.begin_ns, layer.back().end_ns);
  if (next.end_ns <= next.begin_ns) return;
  if (!layer.empty()) {
    RankActivity& last = layer.back();
    const bool is_same = last.kind == next.kind && last.name == next.name && last.op == next.op &&
                         last.range == next.range && last.end_ns == next.begin_ns;
    if (is_same) {
      last.end_ns = next.end_ns;
      return;
    }
  }
  layer.push_back(next);
}

// `upper`, and the parts of `lower` that it does not cover.
Layer laid_over(const Layer& upper, const Layer& lower) {
  Layer both;
  both.reserve(upper.size() + lower.size());
  std::size_t next = 0;
  for (const RankActivity& below : lower) {
    RankActivity rest = below;
    while (next < upper.size() && upper[next].begin_ns < below.end_ns) {
      if (upper[next].begin_ns > rest.begin_ns) {
        RankActivity free = rest;
        free.end_ns = upper[next].begin_ns;
        append(both, free);
      }
      rest.begin_ns = std::max(rest.begin_ns, upper[next].end_ns);
      if (upper[next].end_ns > below.end_ns) break;
      append(both, upper[next++]);
    }
    append(both, rest);
  }
  for (; next < upper.size(); ++next) append(both, upper[next]);
  return both;
}

class ActivityFinder {
 public:
  ActivityFinder(const RankView& view, SummaryTexts& texts, RankSummary& summary)
      : view_(view), trace_(view.trace), texts_(texts), summary_(summary) {}

  void run() {
    if (view_.main.valid()) read_main();
    Layer all = laid_over(work_layer(view_.kernels, ActivityKind::Kernel),
                          work_layer(view_.copies, ActivityKind::Copy));
    all = laid_over(all, operators_);
    for (const TrackId thread : view_.threads)
      if (thread != view_.main && runs_backward(thread)) all = laid_over(all, operators_of(thread));
    all = laid_over(all, collective_layer());
    summary_.activities = laid_over(laid_over(all, rest_), outside_spans());
    if (summary_.activities.size() > kMostInDetail) join_activities();
  }

 private:
  // Where an answer may ask how long a rank did something: collectives and steps begin and end.
  std::vector<Nanos> cuts() const {
    std::vector<Nanos> times;
    for (const RankCollective& one : summary_.collectives) {
      times.push_back(one.start_ns);
      times.push_back(one.end_ns);
    }
    for (const RankStep& step : summary_.steps) {
      times.push_back(step.begin_ns);
      times.push_back(step.end_ns);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  // Of a long recording: between two such times, the same activities become one, in the order in
  // which they first came. How long each took stays the same.
  void join_activities() {
    const Layer all = std::move(summary_.activities);
    summary_.activities.clear();
    std::vector<Nanos> times = cuts();
    times.push_back(INT64_MAX);
    Layer part;
    Nanos part_begin_ns = INT64_MIN;
    auto next = times.begin();
    const auto finish = [&] {
      Nanos at_ns = part_begin_ns;
      for (RankActivity one : part) {
        const Nanos length_ns = one.length_ns();
        one.begin_ns = at_ns;
        one.end_ns = at_ns = at_ns + length_ns;
        append(summary_.activities, one);
      }
      part.clear();
      places_.clear();
    };
    for (const RankActivity& one : all) {
      for (Nanos from_ns = one.begin_ns; from_ns < one.end_ns;) {
        while (*next <= from_ns) {
          finish();
          ++next;
        }
        if (part.empty()) part_begin_ns = from_ns;
        RankActivity piece = one;
        piece.begin_ns = from_ns;
        piece.end_ns = from_ns = std::min(one.end_ns, *next);
        const auto key = std::tuple(piece.kind, piece.name, piece.op, piece.range);
        const auto [found, is_new] = places_.try_emplace(key, part.size());
        if (is_new) {
          part.push_back(piece);
        } else {
          part[found->second].end_ns += piece.length_ns();
        }
      }
    }
    finish();
  }

  // Calls visit(span, from, to) for the self time of each span of a thread. Cuts spans that partly
  // overlap.
  template <typename Visit>
  void for_self_times(TrackId thread, Visit visit) const {
    std::vector<SpanId> open;
    Nanos at_ns = INT64_MIN;
    const auto close_until = [&](Nanos until_ns) {
      while (!open.empty() && trace_.end_ns(open.back()) <= until_ns) {
        const Nanos end_ns = trace_.end_ns(open.back());
        if (end_ns > at_ns) visit(open, at_ns, end_ns);
        at_ns = std::max(at_ns, end_ns);
        open.pop_back();
      }
      if (!open.empty() && until_ns > at_ns) visit(open, at_ns, until_ns);
      at_ns = std::max(at_ns, until_ns);
    };
    for (const SpanId span : trace_.track_spans(thread)) {
      if ((trace_.spans().flags[span] & SpanFlags::kAsync) != 0) continue;
      close_until(trace_.spans().start_ns[span]);
      open.push_back(span);
    }
    close_until(INT64_MAX);
  }

  void read_main() {
    for_self_times(view_.main, [this](const std::vector<SpanId>& open, Nanos from, Nanos to) {
      RankActivity one = innermost(open, from, to);
      append(one.kind == ActivityKind::Operator ? operators_ : rest_, one);
      append(ranges_, {.begin_ns = from, .end_ns = to, .range = one.range});
    });
  }

  Layer operators_of(TrackId thread) const {
    Layer layer;
    for_self_times(thread, [&](const std::vector<SpanId>& open, Nanos from, Nanos to) {
      RankActivity one = innermost(open, from, to);
      one.range = range_at(from);
      if (one.kind == ActivityKind::Operator) append(layer, one);
    });
    return layer;
  }

  // Code of the main thread need not be in any span, as between two steps, or is not recorded.
  Layer outside_spans() const {
    return {{.begin_ns = summary_.first_ns, .end_ns = summary_.last_ns}};
  }

  RankActivity innermost(const std::vector<SpanId>& open, Nanos from, Nanos to) const {
    RankActivity one{.begin_ns = from, .end_ns = to};
    const SpanTable& spans = trace_.spans();
    const SpanId inner = open.back();
    const SpanKind kind = spans.kind[inner];
    for (auto outer = open.rbegin(); outer != open.rend(); ++outer) {
      const SpanKind around = spans.kind[*outer];
      if (one.op == RankActivity::kNone && is_operator(around)) one.op = place(*outer);
      if (is_user_range(around)) {
        one.range = place(*outer);
        break;
      }
    }
    if (kind == SpanKind::Step) return one;
    one.name = place(inner);
    if (is_call(kind)) {
      const bool waits = waits_for_device(trace_.name(inner));
      one.kind = waits ? ActivityKind::Wait : ActivityKind::Operator;
      if (!waits && one.op != RankActivity::kNone) one.name = one.op;
    } else {
      one.kind = is_operator(kind) ? ActivityKind::Operator : ActivityKind::Range;
    }
    return one;
  }

  Layer work_layer(const std::vector<Work>& work, ActivityKind kind) const {
    Layer layer;
    for (const Work& one : work) {
      RankActivity next{.begin_ns = one.begin_ns, .end_ns = one.end_ns};
      next.name = place(one.span);
      next.kind = kind;
      add_launch(one.span, next);
      if (!layer.empty() && next.begin_ns - layer.back().end_ns < kDeviceGapNs &&
          next.begin_ns > layer.back().end_ns)
        layer.back().end_ns = next.begin_ns;
      append(layer, next);
    }
    return layer;
  }

  void add_launch(SpanId work, RankActivity& activity) const {
    SpanId span = trace_.spans().launch[work];
    if (!span.valid()) return;
    activity.range = range_at(trace_.spans().start_ns[span]);
    for (int depth = 0; span.valid() && depth < 64; ++depth) {
      if (is_operator(trace_.spans().kind[span])) {
        activity.op = place(span);
        return;
      }
      span = trace_.spans().parent[span];
    }
  }

  std::uint32_t range_at(Nanos time_ns) const {
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), time_ns,
                         [](Nanos t, const RankActivity& range) { return t < range.begin_ns; });
    if (after == ranges_.begin()) return RankActivity::kNone;
    const RankActivity& range = *std::prev(after);
    return time_ns < range.end_ns ? range.range : RankActivity::kNone;
  }

  bool runs_backward(TrackId thread) const {
    for (const SpanId span : trace_.track_spans(thread))
      if (trace_.name(span).starts_with(kEvaluateFunction)) return true;
    return false;
  }

  // If several run at once, the one that began first.
  Layer collective_layer() const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < summary_.collectives.size(); ++i)
      if ((summary_.collectives[i].flags & RankCollective::kUnfinished) == 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return summary_.collectives[a].start_ns < summary_.collectives[b].start_ns;
    });
    Layer layer;
    for (const std::uint32_t i : order) {
      const RankCollective& one = summary_.collectives[i];
      RankActivity next{.begin_ns = one.start_ns, .end_ns = one.end_ns, .name = i};
      next.kind = ActivityKind::Collective;
      append(layer, next);
    }
    return layer;
  }

  std::uint32_t place(SpanId span) const { return texts_.place(trace_.spans().name[span]); }

  const RankView& view_;
  const Trace& trace_;
  SummaryTexts& texts_;
  RankSummary& summary_;
  Layer operators_;  // of the main thread
  Layer rest_;
  Layer ranges_;
  std::map<std::tuple<ActivityKind, std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t>
      places_;  // of the activities of a part
};

}  // namespace

void find_activities(const RankView& view, SummaryTexts& texts, RankSummary& summary) {
  ActivityFinder(view, texts, summary).run();
}

}  // namespace sonde::detail
