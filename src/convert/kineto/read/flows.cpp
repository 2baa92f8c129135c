// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/flows.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "base/big_vector.h"
#include "base/run_sort.h"
#include "convert/json/json_memo.h"
#include "convert/kineto/read/innermost_spans.h"
#include "convert/kineto/read/keys.h"
#include "convert/kineto/read/reserve_rows.h"

namespace sonde {

namespace {

constexpr std::uint32_t kNone = 0xffffffff;

// One end of an arrow.
struct End {
  std::int64_t id;
  Nanos time;
  StringId category;
  StringId name;
  TrackId track;
  SpanId span;
  std::uint32_t next = kNone;  // beginnings of the same id
  RawId foreign_id = kNoRaw;   // an index into the ids that are not numbers
  char phase;
  bool used = false;
  bool is_inside = false;  // the span began earlier
};

// The beginnings of arrows seen so far, by id and category.
class Beginnings {
 public:
  explicit Beginnings(const BigVector<End>& ends) : ends_(ends) {
    std::size_t slots = 64;
    while (slots < 2 * ends.size()) slots *= 2;
    first_.assign(slots, kNone);
  }

  std::uint32_t& first(const End& end) {
    const std::size_t mask = first_.size() - 1;
    const std::uint64_t key = std::uint64_t{end.category.value()} << 32 | end.foreign_id;
    std::size_t at =
        detail::mix(key ^ detail::kHashB, static_cast<std::uint64_t>(end.id) ^ detail::kHashA) &
        mask;
    while (first_[at] != kNone && !same(ends_[first_[at]], end)) at = (at + 1) & mask;
    return first_[at];
  }

 private:
  static bool same(const End& a, const End& b) {
    return a.id == b.id && a.category == b.category && a.foreign_id == b.foreign_id;
  }
  const BigVector<End>& ends_;
  BigVector<std::uint32_t> first_;
};

class FlowFiller {
 public:
  FlowFiller(TraceBuilder& builder, const Joined& joined, const SpanRows& rows,
             const std::vector<SpanBefore>& before, PlacedFlows& placed)
      : builder_(builder), joined_(joined), rows_(rows), before_(before), placed_(placed) {}

  std::vector<ForeignFlow> fill() {
    collect();
    find_spans();
    pair();
    add_rows();
    return std::move(foreign_);
  }

 private:
  // An arrow from one end to another; either end may be missing.
  struct Arrow {
    std::uint32_t from = kNone;
    std::uint32_t to = kNone;
    TrackId track;  // of the earlier end
    Nanos time = 0;
  };

  void collect() {
    std::size_t count = 0;
    for (const Staged& stretch : joined_.stretches) count += stretch.flows.size();
    ends_.reserve(count);
    arrows_.reserve(count);
    for (std::size_t s = 0; s < joined_.stretches.size(); ++s) {
      const Staged& stretch = joined_.stretches[s];
      remember_extras(s);
      for (const StagedFlow& flow : stretch.flows) {
        End end;
        end.id = flow.id;
        end.time = joined_.absolute(flow.time);
        end.category = joined_.text(s, flow.category);
        end.name = joined_.text(s, flow.name);
        end.track = joined_.tracks[s][flow.track];
        if (flow.span != StagedFlow::kNoSpan) end.span = rows_(s, flow.span);
        if (flow.foreign_id != kNoRaw) {
          end.foreign_id = foreign_ids_.id_of(stretch.values.keys()[flow.foreign_id]);
          end.id = end.foreign_id;
        }
        end.phase = flow.phase;
        ends_.push_back(end);
      }
      take_spans_before(s, ends_.size() - stretch.flows.size());
    }
  }

  void take_spans_before(std::size_t s, std::size_t first_end) {
    const SpanBefore& before = before_[s];
    for (const std::uint32_t flow : before.flows) {
      End& end = ends_[first_end + flow];
      end.span = rows_(before.stretch, before.span);
      end.track = joined_.tracks[before.stretch][before.track];
    }
  }

  // Call it before the ends of the stretch are added.
  void remember_extras(std::size_t s) {
    const auto first = static_cast<std::uint32_t>(ends_.size());
    for (const StagedExtra& extra : joined_.stretches[s].extras) {
      if (extra.of_table != TableKind::Flows) continue;
      with_extras_.try_emplace(first + extra.row, static_cast<std::uint32_t>(s), extra.row);
    }
  }

  // For ends without a span just before them: finds a span that begins there, or the innermost
  // around.
  void find_spans() {
    std::vector<std::uint32_t> lost;
    for (std::uint32_t i = 0; i < ends_.size(); ++i) {
      if (!ends_[i].span.valid()) lost.push_back(i);
    }
    std::stable_sort(lost.begin(), lost.end(), [this](std::uint32_t a, std::uint32_t b) {
      return std::tie(ends_[a].track, ends_[a].time) < std::tie(ends_[b].track, ends_[b].time);
    });
    InnermostSpans spans(builder_.spans());
    for (const std::uint32_t i : lost) {
      End& end = ends_[i];
      end.span = spans.around(end.track, end.time);
      end.is_inside = end.span.valid() && builder_.spans().start_ns[end.span] < end.time;
    }
  }

  void pair() {
    Beginnings beginnings(ends_);
    for (std::uint32_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i].phase == 'f') continue;
      std::uint32_t& first = beginnings.first(ends_[i]);
      ends_[i].next = first;
      first = i;
    }
    for (std::uint32_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i].phase == 's') continue;
      const std::uint32_t from = beginning_of(beginnings.first(ends_[i]), i);
      if (from != kNone) ends_[from].used = true;
      add_arrow(from, i);
    }
    for (std::uint32_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i].phase != 'f' && !ends_[i].used) add_arrow(i, kNone);
    }
  }

  // The latest beginning that is not after the end, on another span if possible, because a flow may
  // begin where one with the same number ended. If the clocks disagree, all beginnings may be
  // later; then the first of them. In long chains only the first thousand are considered.
  std::uint32_t beginning_of(std::uint32_t first, std::uint32_t end) const {
    constexpr int kMostLooks = 1000;
    std::uint32_t best = kNone;
    std::uint32_t same_place = kNone;
    std::uint32_t later = kNone;
    int looks = 0;
    for (std::uint32_t i = first; i != kNone && looks < kMostLooks; i = ends_[i].next, ++looks) {
      if (i == end) continue;
      if (ends_[i].phase == 't' && ends_[i].time >= ends_[end].time) continue;
      if (is_same_place(i, end)) {
        same_place = i;
      } else if (ends_[i].time <= ends_[end].time) {
        if (best == kNone || ends_[i].time > ends_[best].time) best = i;
      } else if (later == kNone || ends_[i].time <= ends_[later].time) {
        later = i;
      }
    }
    return best != kNone ? best : same_place != kNone ? same_place : later;
  }

  bool is_same_place(std::uint32_t a, std::uint32_t b) const {
    return ends_[a].span.valid() && ends_[a].span == ends_[b].span &&
           ends_[a].time == ends_[b].time;
  }

  void add_arrow(std::uint32_t from, std::uint32_t to) {
    Arrow arrow{from, to, {}, 0};
    const auto place = [this](std::uint32_t i) {
      return std::make_pair(ends_[i].track, ends_[i].time);
    };
    std::tie(arrow.track, arrow.time) = from == kNone ? place(to)
                                        : to == kNone ? place(from)
                                                      : std::min(place(from), place(to));
    arrows_.push_back(arrow);
  }

  const End& any_end(const Arrow& arrow) const {
    return ends_[arrow.from != kNone ? arrow.from : arrow.to];
  }

  void add_rows() {
    run_sort(std::span(arrows_), [this](const Arrow& a, const Arrow& b) {
      if (a.track != b.track) return a.track < b.track;
      if (a.time != b.time) return a.time < b.time;
      return any_end(a).id < any_end(b).id;
    });
    reserve_rows(builder_.flows(), arrows_.size());
    for (const Arrow& arrow : arrows_) {
      add_row(arrow);
      ask_for_big_columns(builder_.flows(), arrows_.size());
    }
  }

  void add_row(const Arrow& arrow) {
    const End& end = any_end(arrow);
    FlowRow row;
    row.id = end.id;
    const Category& category = category_of(end.category);
    row.kind = category.kind;
    row.category = category.kept;
    row.name = end.name;
    if (arrow.from != kNone) set_end(ends_[arrow.from], row.from_span, row.from_track, row.from_ns);
    if (arrow.to != kNone) set_end(ends_[arrow.to], row.to_span, row.to_track, row.to_ns);
    const FlowId id = builder_.flows().push_back(row);
    if (end.foreign_id != kNoRaw) foreign_.push_back({id, foreign_ids_.keys()[end.foreign_id]});
    if (with_extras_.empty()) return;
    place(arrow.from, id, true);
    place(arrow.to, id, false);
  }

  static void set_end(const End& end, SpanId& span, TrackId& track, Nanos& time) {
    span = end.span;
    if (!span.valid()) track = end.track;
    if (!span.valid() || end.is_inside) time = end.time;
  }

  // If an end belongs to several arrows, its extras go to the first.
  void place(std::uint32_t end, FlowId flow, bool is_start) {
    const auto found = with_extras_.find(end);
    if (found != with_extras_.end()) {
      placed_.try_emplace(found->second, PlacedFlow{flow.value(), is_start});
    }
  }

  // What a category means, and its text if the kind does not express it.
  struct Category {
    FlowKind kind = FlowKind::Other;
    StringId kept;
  };

  const Category& category_of(StringId category) {
    if (category == last_category_) return last_;
    last_category_ = category;
    last_ = {FlowKind::Other, category};
    if (!category.valid()) return last_;
    const std::string_view text = builder_.strings()[category];
    last_.kind = flow_kind_of(text);
    if (last_.kind != FlowKind::Other && text == to_string(last_.kind)) last_.kept = StringId();
    return last_;
  }

  TraceBuilder& builder_;
  const Joined& joined_;
  const SpanRows& rows_;
  const std::vector<SpanBefore>& before_;
  BigVector<End> ends_;
  BigVector<Arrow> arrows_;
  StringId last_category_;  // neighbours mostly share it
  Category last_;
  RawMemo foreign_ids_;
  std::vector<ForeignFlow> foreign_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> with_extras_;  // by end
  PlacedFlows& placed_;
};

}  // namespace

std::vector<SpanBefore> spans_before(const std::vector<Staged>& stretches) {
  std::vector<SpanBefore> all(stretches.size());
  const Staged* before = nullptr;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    const Staged& stretch = stretches[s];
    SpanBefore& found = all[s];
    if (before != nullptr) {
      found.stretch = static_cast<std::uint32_t>(before - stretches.data());
      found.span = static_cast<std::uint32_t>(before->spans.size() - 1);
      found.track = before->spans.back().track;
      const StagedTrack& line = before->tracks[found.track];
      for (std::uint32_t i = 0; i < stretch.flows_before_spans; ++i) {
        const StagedFlow& flow = stretch.flows[i];
        const StagedTrack& own = stretch.tracks[flow.track];
        if (before->spans.back().start == flow.time && line.pid == own.pid && line.tid == own.tid)
          found.flows.push_back(i);
      }
    }
    if (!stretch.spans.empty()) before = &stretch;
  }
  return all;
}

std::vector<ForeignFlow> fill_flows(TraceBuilder& builder, const Joined& joined,
                                    const SpanRows& rows, const std::vector<SpanBefore>& before,
                                    PlacedFlows& placed) {
  return FlowFiller(builder, joined, rows, before, placed).fill();
}

}  // namespace sonde
