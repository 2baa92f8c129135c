// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/events/forward_ops.h"

#include <algorithm>

namespace sonde::detail {

void ForwardOps::index() {
  if (is_indexed_) return;
  is_indexed_ = true;
  const SpanTable& spans = trace_.spans();
  for (const SpanId span : trace_.all_spans()) {
    const RecordScope scope = spans.scope[span];
    const bool is_function = scope == RecordScope::Function || scope == RecordScope::None;
    if (spans.sequence_number[span] >= 0 && spans.forward_thread[span] == 0 && is_function)
      by_number_.emplace_back(spans.sequence_number[span], span.value());
  }
  std::sort(by_number_.begin(), by_number_.end());
}

SpanId ForwardOps::of(SpanId gradient) {
  index();
  const SpanTable& spans = trace_.spans();
  const std::int64_t thread = spans.forward_thread[gradient];
  const std::int64_t number = spans.sequence_number[gradient];
  if (number < 0) return {};
  auto found = std::lower_bound(by_number_.begin(), by_number_.end(), std::pair(number, 0U));
  constexpr int kMostThreads = 64;
  for (int i = 0; i < kMostThreads && found != by_number_.end() && found->first == number; ++i) {
    const SpanId span(found->second);
    const TrackId track = spans.track[span];
    // Kineto's files have no thread numbers.
    const std::int64_t logical = track.valid() ? trace_.tracks().logical_id[track] : -1;
    if (logical == 0 || logical == thread) return span;
    ++found;
  }
  return {};
}

}  // namespace sonde::detail
