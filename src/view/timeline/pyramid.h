// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A lane at every zoom. A lane is one row of a track: spans that do not overlap, in the order of
// their start. Level k divides time into buckets of 2^k ns, counted from the start of the trace. A
// cell stands for all spans of a lane that begin in one bucket, except that a span of at least one
// bucket has a cell of its own. Cells follow each other without a gap, so that the counts of any
// level add up to the spans of the lane.
//
//   level base+2   [      cell      ][ cell ]
//   level base+1   [ cell  ][ cell  ][ cell ]
//   level base     [cell][cell][cell][ cell ]     about 16 spans a cell
//   spans          ▐▐ ▌▐ ▐▐▌▌ ▐▐ ▌▌▐ ████████
//
// viewer/src/tiles/pyramid.ts does the same in the browser for pages without a server; tests/page
// compares the two.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// Times of spans since the start of the trace.
struct SpanTimes {
  // Null: all are 0.
  const Nanos* start_ns = nullptr;
  const Nanos* duration_ns = nullptr;
  Nanos first_ns = 0;

  Nanos begin(std::uint32_t span) const {
    return (start_ns == nullptr ? 0 : start_ns[span]) - first_ns;
  }
  Nanos length(std::uint32_t span) const { return duration_ns == nullptr ? 0 : duration_ns[span]; }
  Nanos end(std::uint32_t span) const { return begin(span) + length(span); }
  // Has the memory brought closer before it is needed.
  void prefetch(std::uint32_t span) const {
    if (start_ns != nullptr) __builtin_prefetch(start_ns + span);
    if (duration_ns != nullptr) __builtin_prefetch(duration_ns + span);
  }
};

// A time this much later, or the last that there is.
inline Nanos later(Nanos at, Nanos by) {
  return at > std::numeric_limits<Nanos>::max() - by ? std::numeric_limits<Nanos>::max() : at + by;
}

struct Cell {
  std::uint32_t bucket;   // of its level
  std::uint32_t first;    // place in the lane; the next cell's says how many there are
  std::uint32_t longest;  // a span
  float busy_ns;          // durations added up
};

// What is drawn: one span, or several that begin in the same bucket.
struct Rect {
  float begin = 0;  // in buckets, from the start of the tile
  float end = 0;
  std::uint32_t span = 0;  // the longest of them
  std::uint32_t count = 0;
  std::uint16_t row = 0;
  std::uint8_t cover = 0;  // which part of it spans cover, of 255
};

// Wider buckets than any trace needs; 2^52 ns are 52 days.
inline constexpr int kMostLevel = 52;
// Lanes of fewer spans are drawn from the spans themselves.
inline constexpr std::size_t kFewSpans = 64;

class LanePyramid {
 public:
  LanePyramid() = default;
  LanePyramid(std::span<const std::uint32_t> lane, const SpanTimes& times);

  // Adds what begins in [from, to) or reaches into it; both are multiples of the bucket.
  void add_rects(std::span<const std::uint32_t> lane, const SpanTimes& times, int level, Nanos from,
                 Nanos to, std::uint16_t row, std::vector<Rect>& out) const;

  std::size_t memory_bytes() const;

 private:
  void add_cells(std::span<const std::uint32_t> lane, const SpanTimes& times, int level, Nanos from,
                 Nanos to, std::uint16_t row, std::vector<Rect>& out) const;

  int base_ = 0;
  std::vector<std::vector<Cell>> levels_;  // of buckets of 2^base_, 2^(base_ + 1), … ns
};

}  // namespace sonde::detail
