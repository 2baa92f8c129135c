// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/track_points.h"

#include <algorithm>

#include "convert/kineto/write/span_lanes.h"

namespace sonde {

namespace {

// Calls visit(track, point) for every point, always in the same order.
template <typename Visit>
void for_each_point(const Trace& trace, const FlowTable& flows, const Visit& visit) {
  const auto of_table = [&visit](const auto& table, PointKind kind) {
    for (std::size_t row = 0; row < table.size(); ++row) {
      visit(table.track[row], Point{table.time_ns[row], static_cast<std::uint32_t>(row), kind});
    }
  };
  of_table(trace.allocations(), PointKind::Allocation);
  of_table(trace.instants(), PointKind::Instant);
  of_table(trace.counters(), PointKind::Counter);
  for (std::size_t row = 0; row < flows.size(); ++row) {
    const auto id = static_cast<std::uint32_t>(row);
    if (!flows.from_span[row].valid() && flows.from_track[row].valid()) {
      visit(flows.from_track[row], Point{flows.from_ns[row], id, PointKind::FlowStart});
    }
    if (!flows.to_span[row].valid() && flows.to_track[row].valid()) {
      visit(flows.to_track[row], Point{flows.to_ns[row], id, PointKind::FlowEnd});
    }
  }
  const SpanTable& spans = trace.spans();
  if (!spans.flags.materialised() && !spans.kind.materialised()) return;
  for (const SpanId span : trace.all_spans()) {
    if (!is_async(spans, span.index())) continue;
    visit(spans.track[span], Point{trace.end_ns(span), span.value(), PointKind::AsyncEnd});
  }
}

}  // namespace

TrackPoints::TrackPoints(const Trace& trace, const FlowTable& flows) {
  const std::size_t tracks = trace.tracks().size();
  const auto bucket = [tracks](TrackId track) { return track.valid() ? track.index() : tracks; };
  begin_.resize(tracks + 2);
  for_each_point(trace, flows, [&](TrackId track, const Point&) { ++begin_[bucket(track) + 1]; });
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  points_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for_each_point(trace, flows, [&](TrackId track, const Point& point) {
    points_[next[bucket(track)]++] = point;
  });
  const auto earlier = [](const Point& a, const Point& b) { return a.time_ns < b.time_ns; };
  for (std::size_t track = 0; track <= tracks; ++track) {
    const auto first = points_.begin() + static_cast<std::ptrdiff_t>(begin_[track]);
    const auto last = points_.begin() + static_cast<std::ptrdiff_t>(begin_[track + 1]);
    if (!std::is_sorted(first, last, earlier)) std::stable_sort(first, last, earlier);
  }
}

}  // namespace sonde
