// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where each span of a trace is drawn, and what a part of the timeline shows at any zoom. Takes
// about 5 bytes per span.
//
//   const TimelineIndex index(trace);
//   std::vector<Rect> rects;
//   index.add_rects(track, level, from, to, rects);   // of all rows of the track
//
// Spans of a track are placed in rows: below their parent, and in the first row that is free, so
// that no two spans of a row overlap and none is hidden.

#include <cstdint>
#include <span>
#include <vector>

#include "sonde/trace.h"
#include "view/timeline/pyramid.h"

namespace sonde::detail {

class TimelineIndex {
 public:
  // `threads` as for parallel_for().
  explicit TimelineIndex(const Trace& trace, unsigned threads = 0);

  const Trace& trace() const { return trace_; }
  const SpanTimes& times() const { return times_; }
  Nanos length_ns() const { return trace_.last_ns() - trace_.first_ns(); }

  // The rows of trace.tracks(), and after them one for spans without a track.
  std::uint32_t tracks() const { return static_cast<std::uint32_t>(trace_.tracks().size()) + 1; }
  IdRange<SpanId> spans_of(std::uint32_t track) const;
  std::uint32_t rows(std::uint32_t track) const {
    return first_lane_[track + 1] - first_lane_[track];
  }
  std::span<const std::uint32_t> lane(std::uint32_t track, std::uint32_t row) const;

  void add_rects(std::uint32_t track, int level, Nanos from, Nanos to,
                 std::vector<Rect>& out) const;

  std::uint32_t track_of(SpanId span) const;
  std::uint32_t row_of(SpanId span) const;
  // The span before or after this one in its row; invalid: there is none.
  SpanId neighbour(SpanId span, int step) const;

  std::size_t memory_bytes() const;

 private:
  struct Lane {
    std::uint32_t begin = 0;  // in order_
    std::uint32_t count = 0;
    LanePyramid pyramid;
  };
  void place(std::uint32_t track, std::vector<Lane>& lanes);

  Trace trace_;
  SpanTimes times_;
  std::vector<std::uint32_t> order_;  // spans by track, row and start
  std::vector<Lane> lanes_;           // by track and row
  std::vector<std::uint32_t> first_lane_;
};

}  // namespace sonde::detail
