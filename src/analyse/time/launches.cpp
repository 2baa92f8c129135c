// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/launches.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace sonde::detail {
std::uint32_t rows_end(const Trace& trace, SpanId span) {
  const SpanTable& spans = trace.spans();
  const IdRange<SpanId> of_track = trace.track_spans(spans.track[span]);
  const Nanos end_ns = trace.end_ns(span);
  std::uint32_t first = span.value() + 1;
  std::uint32_t last = of_track[of_track.size()].value();
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (spans.start_ns[middle] < end_ns) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

Launches::Launches(const Trace& trace) : trace_(trace) {
  const SpanTable& spans = trace.spans();
  for (const SpanId span : trace.all_spans())
    if (is_device_work(spans.kind[span])) all_.push_back({spans.launch[span], span});
  std::sort(all_.begin(), all_.end(), [](const Launch& a, const Launch& b) {
    return std::tuple(a.host.value(), a.work.value()) < std::tuple(b.host.value(), b.work.value());
  });
}

std::span<const Launch> Launches::between(std::uint32_t first, std::uint32_t last) const {
  const auto comes_before = [](const Launch& launch, std::uint32_t row) {
    return launch.host.value() < row;
  };
  const auto begin = std::lower_bound(all_.begin(), all_.end(), first, comes_before);
  const auto end = std::lower_bound(begin, all_.end(), last, comes_before);
  return {begin, end};
}

}  // namespace sonde::detail
