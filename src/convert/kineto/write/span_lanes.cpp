// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/span_lanes.h"

#include <algorithm>
#include <limits>

namespace sonde {

namespace {

// Keeps the search for a lane short. Spans that fit into none of them share the last.
constexpr std::size_t kMaxLanes = 256;

struct Extent {
  Nanos start;
  Nanos end;
};

// The open spans of one lane, each inside the one before.
class Lane {
 public:
  bool take(Extent span) {
    while (!open_.empty() && open_.back().end <= span.start) {
      free_from_ = std::max(free_from_, open_.back().end);
      open_.pop_back();
    }
    if (span.start < free_from_) return false;
    if (!open_.empty() && (span.end > open_.back().end || span.start < open_.back().start)) {
      return false;
    }
    open_.push_back(span);
    return true;
  }

 private:
  std::vector<Extent> open_;
  Nanos free_from_ = std::numeric_limits<Nanos>::min();  // where the last closed span ended
};

std::size_t lane_for(std::vector<Lane>& lanes, Extent span) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].take(span)) return i;
  }
  if (lanes.size() == kMaxLanes) return kMaxLanes - 1;
  lanes.emplace_back().take(span);
  return lanes.size() - 1;
}

}  // namespace

SpanLanes::SpanLanes(const Trace& trace) {
  const SpanTable& spans = trace.spans();
  const std::size_t tracks = trace.tracks().size();
  const bool may_be_async = spans.flags.materialised() || spans.kind.materialised();
  for (std::size_t track = 0; track <= tracks; ++track) {
    std::vector<Lane> lanes(1);
    for (const SpanId span : trace.track_spans(track < tracks ? TrackId(track) : TrackId())) {
      if (may_be_async && is_async(spans, span.index())) continue;
      const Nanos wider = widening_ns(spans.kind[span]);
      const Extent extent{spans.start_ns[span] - wider, trace.end_ns(span) + wider};
      const std::size_t lane = lane_for(lanes, extent);
      if (lane == 0) continue;
      if (lanes_.empty()) lanes_.resize(spans.size());
      lanes_[span.index()] = static_cast<std::uint8_t>(lane);
    }
    counts_.push_back(static_cast<std::uint32_t>(lanes.size()));
  }
}

}  // namespace sonde
