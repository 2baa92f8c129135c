// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Device work by the host span that launched it: the inverse of spans.launch.
//
//   const Launches launches(trace);
//   for (const Launch& launch : launches.below(op)) … trace.end_ns(launch.work)

#include <span>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

struct Launch {
  SpanId host;  // invalid if unknown
  SpanId work;
};

// The row after the last span that begins within this one, on its thread.
std::uint32_t rows_end(const Trace& trace, SpanId span);

class Launches {
 public:
  explicit Launches(const Trace& trace);

  // By host; those without one come last.
  const std::vector<Launch>& all() const noexcept { return all_; }
  // What the span, or spans inside it, launched.
  std::span<const Launch> below(SpanId span) const { return below(span, span); }
  // The same for all spans from `first` to `last` on one thread.
  std::span<const Launch> below(SpanId first, SpanId last) const {
    return between(first.value(), rows_end(trace_, last));
  }

  // … and for the rows of one thread from `first` up to `last`.
  std::span<const Launch> between(std::uint32_t first, std::uint32_t last) const;

 private:
  Trace trace_;
  std::vector<Launch> all_;
};

}  // namespace sonde::detail
