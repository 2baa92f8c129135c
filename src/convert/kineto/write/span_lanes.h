// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Spans that overlap only in part cannot share a line of a viewer. Each track gets as many lanes as
// are needed for the spans of each lane to nest:
//
//   track   aaaaaa          lane 0   aaaaaa
//             bbbbbbb                    c
//               c           lane 1     bbbbbbb

#include <cstdint>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

class SpanLanes {
 public:
  explicit SpanLanes(const Trace& trace);

  std::uint32_t lane(SpanId span) const { return lanes_.empty() ? 0 : lanes_[span.index()]; }
  // At least 1 for each track; the last entry is for spans without a track.
  const std::vector<std::uint32_t>& counts() const { return counts_; }

 private:
  std::vector<std::uint8_t> lanes_;  // empty while all are 0
  std::vector<std::uint32_t> counts_;
};

// By how much a span is widened at both ends, as Kineto does, so that viewers draw an annotation
// around the device work that it covers.
inline Nanos widening_ns(SpanKind kind) {
  return kind == SpanKind::GpuUserAnnotation ? 1 : 0;
}

// Whether the span does not nest and is written as a pair of events.
inline bool is_async(const SpanTable& spans, std::size_t row) {
  return spans.kind[row] == SpanKind::Async || (spans.flags[row] & SpanFlags::kAsync) != 0;
}

}  // namespace sonde
