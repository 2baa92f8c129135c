// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/area.h"

#include <algorithm>

#include "base/readable.h"
#include "base/sum.h"
#include "base/utf8.h"
#include "view/page.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostWork = 3'000'000;  // whose launches are looked at
constexpr std::size_t kMostRowsShown = 2000;
constexpr std::size_t kLongestName = 2000;

class AreaMaker {
 public:
  AreaMaker(const TraceAnswers& answers, Nanos from, Nanos to)
      : answers_(answers),
        index_(answers.index()),
        times_(index_.times()),
        spans_(answers.trace().spans()),
        from_(from),
        to_(to),
        by_name_(answers.trace().strings().size() + 1),
        sums_(by_name_.size()) {}

  Area make(std::span<const std::uint32_t> tracks) {
    for (const std::uint32_t track : tracks)
      if (track < index_.tracks()) add_track(track);
    add_sums();
    std::sort(ranges_.begin(), ranges_.end());
    add_bytes();
    Area out;
    out.has_device = add_device();
    for (std::size_t i = 0; i < by_name_.size(); ++i) {
      if (by_name_[i].count == 0) continue;
      out.rows.push_back(by_name_[i]);
      out.rows.back().name = i + 1 < by_name_.size() ? StringId(i) : StringId();
    }
    std::stable_sort(out.rows.begin(), out.rows.end(),
                     [](const AreaRow& a, const AreaRow& b) { return a.self_ns > b.self_ns; });
    return out;
  }

 private:
  // Small, so that those of thousands of names stay close to the processor.
  struct Sum {
    std::uint32_t count = 0;
    std::uint32_t first = 0;  // a span
    Nanos total_ns = 0;
    Nanos inner_ns = 0;  // of the spans inside
  };

  AreaRow& row_of(std::uint32_t span) {
    const StringId name = spans_.name[SpanId(span)];
    return by_name_[name.valid() ? name.index() : by_name_.size() - 1];
  }
  Nanos inside_ns(std::uint32_t span) const {
    return std::max<Nanos>(std::min(times_.end(span), to_) - std::max(times_.begin(span), from_),
                           0);
  }
  bool is_inside(std::uint32_t span) const {
    return times_.begin(span) < to_ && (times_.end(span) > from_ || times_.begin(span) >= from_);
  }

  // Spans that begin in the area are consecutive; the one that reaches into it is the last of its
  // row before them.
  void add_track(std::uint32_t track) {
    const IdRange<SpanId> spans = index_.spans_of(track);
    if (spans.empty()) return;
    const auto first_from = [&](Nanos at) {
      std::uint32_t low = spans[0].value();
      std::uint32_t high = low + static_cast<std::uint32_t>(spans.size());
      while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (times_.begin(middle) < at) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    };
    const std::uint32_t begin = first_from(from_);
    const std::uint32_t end = first_from(to_);
    for (std::uint32_t row = 0; row < index_.rows(track); ++row) {
      const std::span<const std::uint32_t> lane = index_.lane(track, row);
      const auto next = std::lower_bound(lane.begin(), lane.end(), begin);
      if (next != lane.begin() && times_.end(*(next - 1)) > from_) add(*(next - 1));
    }
    add_whole(begin, end);
    for (std::uint32_t row = 0; row < index_.rows(track); ++row) {
      const std::span<const std::uint32_t> lane = index_.lane(track, row);
      const auto next = std::lower_bound(lane.begin(), lane.end(), end);
      if (next != lane.begin() && *(next - 1) >= begin) cut_end(*(next - 1));
    }
    ranges_.push_back({begin, end});
  }

  // Counts spans that begin in the area as if they also ended there.
  void add_whole(std::uint32_t begin, std::uint32_t end) {
    const StringId* const names = spans_.name.data();
    const SpanId* const parents = spans_.parent.data();
    const std::size_t none = sums_.size() - 1;
    const auto sum_of = [&](std::uint32_t span) -> Sum& {
      return sums_[names == nullptr ? none : std::min<std::size_t>(names[span].value(), none)];
    };
    for (std::uint32_t span = begin; span < end; ++span) {
      const Nanos length_ns = times_.length(span);
      Sum& sum = sum_of(span);
      if (sum.count++ == 0) sum.first = span;
      add_to(sum.total_ns, length_ns);
      const SpanId parent = parents == nullptr ? SpanId() : parents[span];
      if (parent.valid() && (parent.value() >= begin || is_inside(parent.value())))
        add_to(sum_of(parent.value()).inner_ns, length_ns);
    }
  }
  void add_sums() {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Sum& sum = sums_[i];
      AreaRow& row = by_name_[i];
      if (row.count == 0 && sum.count > 0) row.of = span_class(spans_.kind[SpanId(sum.first)]);
      row.count += sum.count;
      add_to(row.total_ns, sum.total_ns);
      add_to(row.self_ns, sum.total_ns);
      take_from(row.self_ns, sum.inner_ns);
    }
  }
  // Subtracts what the last span of a row has after the area.
  void cut_end(std::uint32_t span) {
    const Nanos after_ns = times_.end(span) - to_;
    if (after_ns <= 0) return;
    AreaRow& row = row_of(span);
    take_from(row.total_ns, after_ns);
    take_from(row.self_ns, after_ns);
    const SpanId parent = spans_.parent[SpanId(span)];
    if (parent.valid() && is_inside(parent.value()))
      add_to(row_of(parent.value()).self_ns, after_ns);
  }

  void add(std::uint32_t span) {
    AreaRow& row = row_of(span);
    const Nanos length_ns = inside_ns(span);
    if (row.count++ == 0) row.of = span_class(spans_.kind[SpanId(span)]);
    add_to(row.total_ns, length_ns);
    add_to(row.self_ns, length_ns);
    const SpanId parent = spans_.parent[SpanId(span)];
    if (parent.valid() && is_inside(parent.value()))
      take_from(row_of(parent.value()).self_ns, length_ns);
  }

  void add_bytes() {
    const CopyTable& copies = answers_.trace().copies();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const SpanId span = copies.span[i];
      if (span.valid() && copies.bytes[i] > 0 && is_selected(span.value()))
        add_to(row_of(span.value()).bytes, copies.bytes[i]);
    }
  }

  bool is_selected(std::uint32_t span) const {
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), span,
        [](std::uint32_t wanted, const auto& range) { return wanted < range.first; });
    return after != ranges_.begin() && span < (after - 1)->second;
  }

  bool add_device() {
    const std::vector<Launch>& all = answers_.launches().all();
    if (all.size() > kMostWork) return false;
    for (const Launch& launch : all) {
      const Nanos length_ns = times_.length(launch.work.value());
      for (SpanId at = launch.host; at.valid(); at = spans_.parent[at])
        if (is_selected(at.value())) add_to(row_of(at.value()).device_ns, length_ns);
    }
    return true;
  }

  const TraceAnswers& answers_;
  const TimelineIndex& index_;
  const SpanTimes& times_;
  const SpanTable& spans_;
  const Nanos from_;
  const Nanos to_;
  std::vector<AreaRow> by_name_;  // the last is for spans without a name
  std::vector<Sum> sums_;         // the same, of spans that begin in the area
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;  // spans that begin in the area
};

}  // namespace

Area area(const TraceAnswers& answers, std::span<const std::uint32_t> tracks, Nanos from,
          Nanos to) {
  return AreaMaker(answers, from, to).make(tracks);
}

std::string area_json(const TraceAnswers& answers, const Area& area) {
  PageJson json;
  json.key("from_device").boolean(area.has_device);
  json.key("names").number(static_cast<std::int64_t>(area.rows.size()));
  const std::span<const AreaRow> shown(area.rows.data(),
                                       std::min(area.rows.size(), kMostRowsShown));
  json.key("rows").list(shown, [&](const AreaRow& row) {
    json.object([&] {
      json.key("name").text(
          readable_line(first_whole(answers.trace().string(row.name), kLongestName)));
      json.key("class").number(static_cast<int>(row.of));
      json.key("count").number(static_cast<std::int64_t>(row.count));
      json.key("total").number(row.total_ns);
      json.key("self").number(row.self_ns);
      json.key("device").number(row.device_ns);
      json.key("bytes").number(row.bytes);
    });
  });
  return json.done();
}

}  // namespace sonde::detail
