// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The innermost spans around points in time, found in one walk over the spans of their tracks.
//
//   InnermostSpans spans(builder.spans());
//   for (Point& point : points) point.span = spans.around(point.track, point.time_ns);
//
// Pass points by track and rising time; spans are in row order. A span that begins or ends exactly
// at the time is around it. Of several, the one that began last is the innermost. Spans flagged
// Async are around nothing.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sonde/trace/tables_gen.h"

namespace sonde {

class InnermostSpans {
 public:
  explicit InnermostSpans(const SpanTable& spans) : spans_(spans) {}

  // An invalid id if there is none.
  SpanId around(TrackId track, Nanos time_ns);

 private:
  void go_to(TrackId track);
  void open_until(Nanos time_ns);
  void close_before(Nanos time_ns);
  Nanos end_of(std::uint32_t row) const;

  const SpanTable& spans_;
  TrackId track_;
  std::uint32_t row_ = 0;  // the next span that may begin
  std::vector<std::uint32_t> open_;
};

}  // namespace sonde
