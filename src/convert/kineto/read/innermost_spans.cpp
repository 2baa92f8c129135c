// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/innermost_spans.h"

namespace sonde {

SpanId InnermostSpans::around(TrackId track, Nanos time_ns) {
  if (!track.valid()) return {};
  if (track != track_) go_to(track);
  open_until(time_ns);
  close_before(time_ns);
  return open_.empty() ? SpanId() : SpanId(open_.back());
}

// Goes to the first span of the track.
void InnermostSpans::go_to(TrackId track) {
  track_ = track;
  open_.clear();
  row_ = 0;
  auto last = static_cast<std::uint32_t>(spans_.size());
  while (row_ < last) {
    const std::uint32_t middle = row_ + (last - row_) / 2;
    if (spans_.track[middle] < track) {
      row_ = middle + 1;
    } else {
      last = middle;
    }
  }
}

void InnermostSpans::open_until(Nanos time_ns) {
  for (; row_ < spans_.size() && spans_.track[row_] == track_ && spans_.start_ns[row_] <= time_ns;
       ++row_) {
    if ((spans_.flags[row_] & SpanFlags::kAsync) != 0) continue;
    close_before(spans_.start_ns[row_]);
    open_.push_back(row_);
  }
}

void InnermostSpans::close_before(Nanos time_ns) {
  while (!open_.empty() && end_of(open_.back()) < time_ns) open_.pop_back();
}

Nanos InnermostSpans::end_of(std::uint32_t row) const {
  Nanos end = 0;
  const bool too_late = __builtin_add_overflow(spans_.start_ns[row], spans_.duration_ns[row], &end);
  return too_late ? INT64_MAX : end;
}

}  // namespace sonde
