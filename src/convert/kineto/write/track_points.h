// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What is written between the spans of a track: everything that has one time.

#include <cstdint>
#include <span>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

enum class PointKind : std::uint8_t {
  Allocation,
  Instant,
  Counter,
  FlowStart,  // of a flow whose beginning has a track and a time but no span
  FlowEnd,
  AsyncEnd,  // the row is that of the span
};

struct Point {
  Nanos time_ns;
  std::uint32_t row;
  PointKind kind;
};

// The points of each track by time. Points at one time are ordered by PointKind, then by row.
class TrackPoints {
 public:
  TrackPoints(const Trace& trace, const FlowTable& flows);

  // For points without a track, `track` is the number of tracks.
  std::span<const Point> of(std::size_t track) const {
    return std::span(points_).subspan(begin_[track], begin_[track + 1] - begin_[track]);
  }

 private:
  std::vector<Point> points_;
  std::vector<std::size_t> begin_;
};

}  // namespace sonde
