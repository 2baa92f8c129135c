// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/compare/step_parts.h"

#include <algorithm>
#include <ranges>

namespace sonde::detail {
namespace {

bool is_own_work(const Trace& trace, SpanId span) {
  if (!span.valid()) return false;
  const SpanKind kind = trace.spans().kind[span];
  return is_operator(kind) || is_call(kind);
}

class MomentWriter {
 public:
  MomentWriter(const Trace& trace, Nanos from, Nanos to) : trace_(trace), at_(from), to_(to) {}

  void enter(SpanId span) {
    const Nanos begin = trace_.spans().start_ns[span];
    leave_until(begin);
    advance(begin);
    open_.push_back(span);
  }
  std::vector<Moment> finish() {
    leave_until(to_);
    advance(to_);
    return std::move(moments_);
  }

 private:
  void leave_until(Nanos time) {
    while (!open_.empty() && trace_.end_ns(open_.back()) <= time) {
      advance(trace_.end_ns(open_.back()));
      open_.pop_back();
    }
  }
  void advance(Nanos time) {
    const Nanos until = std::min(time, to_);
    if (until <= at_) return;
    moments_.push_back({at_, until, open_.empty() ? SpanId() : open_.back()});
    at_ = until;
  }

  const Trace& trace_;
  Nanos at_;
  Nanos to_;
  std::vector<SpanId> open_;
  std::vector<Moment> moments_;
};

// If a span ends after the next begins, the next is cut.
void keep_apart(std::vector<Moment>& moments) {
  std::sort(moments.begin(), moments.end(),
            [](const Moment& a, const Moment& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Moment> kept;
  for (Moment moment : moments) {
    if (!kept.empty()) moment.begin_ns = std::max(moment.begin_ns, kept.back().end_ns);
    if (moment.begin_ns < moment.end_ns) kept.push_back(moment);
  }
  moments = std::move(kept);
}

}  // namespace

std::vector<Moment> innermost_moments(const Trace& trace, TrackId track, Nanos from, Nanos to) {
  const SpanTable& table = trace.spans();
  const IdRange<SpanId> spans = trace.track_spans(track);
  const std::size_t first =
      *std::ranges::partition_point(std::views::iota(std::size_t{0}, spans.size()),
                                    [&](std::size_t i) { return table.start_ns[spans[i]] < from; });
  MomentWriter writer(trace, from, to);
  const auto enter = [&](SpanId span) {
    if (trace.end_ns(span) > from && (table.flags[span] & SpanFlags::kAsync) == 0)
      writer.enter(span);
  };
  // The last span before is in all that are open.
  std::vector<SpanId> open;
  if (first > 0)
    for (SpanId at = spans[first - 1]; at.valid(); at = table.parent[at]) open.push_back(at);
  std::for_each(open.rbegin(), open.rend(), enter);
  for (std::size_t i = first; i < spans.size() && table.start_ns[spans[i]] < to; ++i)
    enter(spans[i]);
  return writer.finish();
}

StepParts::StepParts(const Trace& trace, ProcessId process) : trace_(trace), process_(process) {}

const std::vector<Moment>& StepParts::helpers_of(TrackId track) const {
  if (has_helpers_ && helped_ == track) return helpers_;
  has_helpers_ = true;
  helped_ = track;
  helpers_.clear();
  const TrackTable& tracks = trace_.tracks();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    if (TrackId(i) == track || tracks.process[i] != process_ || tracks.kind[i] != TrackKind::Thread)
      continue;
    for (const Moment& moment :
         innermost_moments(trace_, TrackId(i), trace_.first_ns(), trace_.last_ns()))
      if (is_own_work(trace_, moment.span)) helpers_.push_back(moment);
  }
  keep_apart(helpers_);
  return helpers_;
}

void StepParts::for_each(TrackId track, Nanos from, Nanos to,
                         const std::function<void(const Moment&)>& visit) const {
  const std::vector<Moment>& helpers = helpers_of(track);
  for (const Moment& own : innermost_moments(trace_, track, from, to)) {
    if (is_own_work(trace_, own.span)) {
      visit(own);
      continue;
    }
    auto helper = std::partition_point(helpers.begin(), helpers.end(), [&](const Moment& moment) {
      return moment.end_ns <= own.begin_ns;
    });
    Nanos at = own.begin_ns;
    for (; helper != helpers.end() && helper->begin_ns < own.end_ns; ++helper) {
      const Nanos begin = std::max(at, helper->begin_ns);
      const Nanos end = std::min(own.end_ns, helper->end_ns);
      if (at < begin) visit({at, begin, own.span});
      if (begin < end) visit({begin, end, helper->span});
      at = std::max(at, end);
    }
    if (at < own.end_ns) visit({at, own.end_ns, own.span});
  }
}

}  // namespace sonde::detail
