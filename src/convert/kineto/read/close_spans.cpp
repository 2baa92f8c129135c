// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/close_spans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "base/json_string.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/extras.h"
#include "convert/kineto/read/keys.h"

namespace sonde {

namespace {

struct Edge {
  const StagedEdge* staged;
  std::uint32_t stretch;
};

class EdgeCloser {
 public:
  EdgeCloser(TraceBuilder& builder, Joined& joined, const TrackReader& tracks)
      : builder_(builder), joined_(joined), tracks_(tracks) {}

  std::vector<SpanEnd> close() {
    for (std::uint32_t s = 0; s < joined_.stretches.size(); ++s) {
      for (const StagedEdge& edge : joined_.stretches[s].edges) edges_.push_back({&edge, s});
    }
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const Edge& a, const Edge& b) { return a.staged->time < b.staged->time; });
    for (const Edge& edge : edges_) {
      std::vector<Edge>& open = line_of(edge);
      if (edge.staged->phase == 'B' || edge.staged->phase == 'b') {
        open.push_back(edge);
      } else {
        end(open, edge);
      }
    }
    end_unfinished();
    return std::move(ends_);
  }

 private:
  // A track, or a category and an id.
  using Line = std::tuple<TrackId, StringId, std::string_view>;

  std::vector<Edge>& line_of(const Edge& edge) {
    const StagedEdge& staged = *edge.staged;
    if (staged.phase == 'B' || staged.phase == 'E') {
      return open_[{joined_.tracks[edge.stretch][staged.track], StringId(), {}}];
    }
    const std::string_view id = staged.id == kNoRaw
                                    ? std::string_view()
                                    : joined_.stretches[edge.stretch].values.keys()[staged.id];
    return open_[{TrackId(), joined_.text(edge.stretch, staged.category), id}];
  }

  StagedSpan& span_of(const Edge& begin) {
    return joined_.stretches[begin.stretch].spans[begin.staged->span];
  }

  // If several spans are open under one id, the last one with that name ends, else the last one.
  static std::vector<Edge>::iterator ending(std::vector<Edge>& open, const Joined& joined,
                                            const Edge& end) {
    const StringId name = joined.text(end.stretch, end.staged->name);
    if (end.staged->phase == 'e' && name.valid()) {
      for (auto begin = open.rbegin(); begin != open.rend(); ++begin) {
        if (joined.text(begin->stretch, begin->staged->name) == name) return begin.base() - 1;
      }
    }
    return open.end() - 1;
  }

  void end(std::vector<Edge>& open, const Edge& edge) {
    if (open.empty()) {
      ++unmatched_;
      return;
    }
    const auto begin = ending(open, joined_, edge);
    StagedSpan& span = span_of(*begin);
    span.duration = edge.staged->time - span.start;
    TrackId end_track = end_thread(*begin);
    const TrackId track = joined_.tracks[edge.stretch][edge.staged->track];
    const TrackId begin_track = joined_.tracks[begin->stretch][begin->staged->track];
    if (!end_track.valid() && track != begin_track) end_track = track;
    ends_.push_back({{begin->stretch, begin->staged->span},
                     end_track,
                     begin->staged->event,
                     edge.staged->event});
    open.erase(begin);
  }

  TrackId end_thread(const Edge& begin) const {
    if (begin.staged->end_thread.empty()) return {};
    return tracks_.thread_beside(joined_.tracks[begin.stretch][begin.staged->track],
                                 begin.staged->end_thread);
  }

  void end_unfinished() {
    std::uint64_t unfinished = 0;
    std::int64_t last = INT64_MIN;
    for (const auto& [line, open] : open_) unfinished += open.size();
    if (unfinished > 0) last = last_time();
    for (auto& [line, open] : open_) {
      for (const Edge& begin : open) {
        StagedSpan& span = span_of(begin);
        span.duration = std::max<std::int64_t>(0, last - span.start);
        span.flags |= SpanFlags::kUnfinished;
      }
    }
    if (unfinished > 0) builder_.add_ledger(LedgerKind::Unfinished, unfinished, "events");
    if (unmatched_ > 0) builder_.add_ledger(LedgerKind::Unmatched, unmatched_, "events");
  }

  std::int64_t last_time() const {
    std::int64_t last = INT64_MIN;
    for (const Staged& stretch : joined_.stretches) {
      for (const StagedSpan& span : stretch.spans) {
        std::int64_t end = span.start;
        if (span.duration > 0 && __builtin_add_overflow(end, span.duration, &end)) continue;
        last = std::max(last, end);
      }
    }
    return last;
  }

  TraceBuilder& builder_;
  Joined& joined_;
  const TrackReader& tracks_;
  std::vector<Edge> edges_;
  std::map<Line, std::vector<Edge>> open_;
  std::vector<SpanEnd> ends_;
  std::uint64_t unmatched_ = 0;
};

// The value of a key; empty if the object has none.
std::string_view member(std::string_view object, std::string_view wanted) {
  std::string_view found;
  for_each_member(object, [&](std::string_view key, std::string_view value) {
    if (key == wanted) found = value;
    return found.empty();
  });
  return found;
}

std::set<std::string_view> keys_of(std::string_view object) {
  std::set<std::string_view> keys;
  for_each_member(object, [&keys](std::string_view key, std::string_view) {
    keys.insert(key);
    return true;
  });
  return keys;
}

}  // namespace

void keep_end(TraceBuilder& builder, SpanId span, const SpanEnd& end) {
  const auto keep_members = [&](std::string_view begin_object, std::string_view end_object,
                                const std::string& prefix, const auto& is_kept) {
    std::optional<std::set<std::string_view>> begun;
    for_each_member(end_object, [&](std::string_view key, std::string_view value) {
      if (!is_kept(key)) return true;
      if (!begun) begun = keys_of(begin_object);
      const bool is_twice = begun->contains(key);
      keep_extra(builder, TableKind::Spans, span.value(),
                 prefix + (is_twice ? "end." : "") + decode_json_string(key), value);
      return true;
    });
  };
  keep_members(member(end.begin, "args"), member(end.end, "args"), "",
               [](std::string_view) { return true; });
  keep_members(end.begin, end.end, "event.",
               [](std::string_view key) { return event_key(key) == EventKey::Unknown; });
}

std::vector<SpanEnd> close_spans(TraceBuilder& builder, Joined& joined, const TrackReader& tracks) {
  return EdgeCloser(builder, joined, tracks).close();
}

}  // namespace sonde
