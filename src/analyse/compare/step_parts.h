// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a step's time consists of: every moment of it belongs to one span.
//
// A moment belongs to the innermost span of the step's own thread. If that is no operator or call,
// the thread may be waiting for others of its process, as it does while gradients are computed:
// then the moment belongs to the innermost operator or call of another thread, if one runs.

#include <functional>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

struct Moment {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  SpanId span;  // invalid: the thread was in no span
};

// The innermost span of a track from moment to moment, without gaps between `from` and `to`.
std::vector<Moment> innermost_moments(const Trace& trace, TrackId track, Nanos from, Nanos to);

class StepParts {
 public:
  StepParts(const Trace& trace, ProcessId process);
  // Moments from `from` to `to` of the thread `track`, one after the other.
  void for_each(TrackId track, Nanos from, Nanos to,
                const std::function<void(const Moment&)>& visit) const;

 private:
  const std::vector<Moment>& helpers_of(TrackId track) const;

  const Trace& trace_;
  ProcessId process_;
  // Operators and calls of the other threads, without overlap.
  mutable TrackId helped_;
  mutable bool has_helpers_ = false;
  mutable std::vector<Moment> helpers_;
};

}  // namespace sonde::detail
