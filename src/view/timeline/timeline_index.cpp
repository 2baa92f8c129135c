// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/timeline_index.h"

#include <algorithm>
#include <iterator>

#include "base/parallel.h"
#include "view/timeline/free_rows.h"

namespace sonde::detail {
namespace {

// The row of each span of a track.
std::vector<std::uint16_t> rows_of_spans(const Trace& trace, IdRange<SpanId> spans,
                                         const SpanTimes& times) {
  std::vector<std::uint16_t> rows(spans.size());
  FreeRows free_rows;
  const std::uint32_t first = spans[0].value();
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    const std::uint32_t span = first + i;
    const SpanId parent = trace.spans().parent[SpanId(span)];
    const bool is_inside = parent.valid() && parent.value() >= first && parent.value() < span;
    const std::uint32_t from = is_inside ? rows[parent.value() - first] + 1U : 0U;
    rows[i] = static_cast<std::uint16_t>(free_rows.take(from, times.begin(span), times.end(span)));
  }
  return rows;
}

}  // namespace

TimelineIndex::TimelineIndex(const Trace& trace, unsigned threads)
    : trace_(trace),
      times_{trace_.spans().start_ns.data(), trace_.spans().duration_ns.data(), trace_.first_ns()},
      order_(trace_.spans().size()) {
  std::vector<std::vector<Lane>> by_track(tracks());
  parallel_for(
      tracks(),
      [&](std::size_t track) { place(static_cast<std::uint32_t>(track), by_track[track]); },
      threads);
  first_lane_.reserve(tracks() + 1);
  for (std::vector<Lane>& lanes : by_track) {
    first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
    std::move(lanes.begin(), lanes.end(), std::back_inserter(lanes_));
  }
  first_lane_.push_back(static_cast<std::uint32_t>(lanes_.size()));
}

void TimelineIndex::place(std::uint32_t track, std::vector<Lane>& lanes) {
  const IdRange<SpanId> spans = spans_of(track);
  if (spans.empty()) return;
  const std::vector<std::uint16_t> rows = rows_of_spans(trace_, spans, times_);
  for (const std::uint16_t row : rows) {
    if (row >= lanes.size()) lanes.resize(row + std::size_t{1});
    ++lanes[row].count;
  }
  std::uint32_t at = spans[0].value();
  for (Lane& lane : lanes) {
    lane.begin = at;
    at += lane.count;
  }
  std::vector<std::uint32_t> next;
  next.reserve(lanes.size());
  for (const Lane& lane : lanes) next.push_back(lane.begin);
  for (std::uint32_t i = 0; i < rows.size(); ++i) order_[next[rows[i]]++] = spans[0].value() + i;
  for (Lane& lane : lanes)
    lane.pyramid = LanePyramid({order_.data() + lane.begin, lane.count}, times_);
}

IdRange<SpanId> TimelineIndex::spans_of(std::uint32_t track) const {
  return trace_.track_spans(track < trace_.tracks().size() ? TrackId(track) : TrackId());
}

std::span<const std::uint32_t> TimelineIndex::lane(std::uint32_t track, std::uint32_t row) const {
  const Lane& lane = lanes_[first_lane_[track] + row];
  return {order_.data() + lane.begin, lane.count};
}

void TimelineIndex::add_rects(std::uint32_t track, int level, Nanos from, Nanos to,
                              std::vector<Rect>& out) const {
  for (std::uint32_t row = 0; row < rows(track); ++row)
    lanes_[first_lane_[track] + row].pyramid.add_rects(lane(track, row), times_, level, from, to,
                                                       static_cast<std::uint16_t>(row), out);
}

std::uint32_t TimelineIndex::track_of(SpanId span) const {
  const TrackId track = trace_.spans().track[span];
  return track.valid() ? track.value() : tracks() - 1;
}

std::uint32_t TimelineIndex::row_of(SpanId span) const {
  const std::uint32_t track = track_of(span);
  for (std::uint32_t row = 0; row < rows(track); ++row) {
    const std::span<const std::uint32_t> spans = lane(track, row);
    if (std::binary_search(spans.begin(), spans.end(), span.value())) return row;
  }
  return 0;
}

SpanId TimelineIndex::neighbour(SpanId span, int step) const {
  const std::span<const std::uint32_t> spans = lane(track_of(span), row_of(span));
  const auto found = std::lower_bound(spans.begin(), spans.end(), span.value());
  const auto at = found - spans.begin() + step;
  if (at < 0 || at >= static_cast<std::ptrdiff_t>(spans.size())) return {};
  return SpanId(spans[static_cast<std::size_t>(at)]);
}

std::size_t TimelineIndex::memory_bytes() const {
  std::size_t bytes = order_.capacity() * sizeof(order_[0]) +
                      first_lane_.capacity() * sizeof(first_lane_[0]) +
                      lanes_.capacity() * sizeof(Lane);
  for (const Lane& lane : lanes_) bytes += lane.pyramid.memory_bytes() - sizeof(LanePyramid);
  return bytes;
}

}  // namespace sonde::detail
