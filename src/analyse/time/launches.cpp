// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/launches.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "analyse/events/event_data.h"

namespace sonde::detail {
namespace {

bool is_work(SpanKind kind) {
  return kind == SpanKind::Kernel || kind == SpanKind::GpuMemcpy || kind == SpanKind::GpuMemset;
}

// Spans of the host by a number that joins them to work; of equal ones the outer is found.
class SpansByNumber {
 public:
  explicit SpansByNumber(const Trace& trace) : trace_(trace) {}

  void add(std::int64_t number, SpanId span) {
    if (number != 0) all_.push_back({process_of(span), number, span.value()});
  }
  void sort() {
    std::sort(all_.begin(), all_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.process, a.number, a.row) < std::tie(b.process, b.number, b.row);
    });
  }
  SpanId find(std::int64_t number, SpanId work) const {
    if (number == 0) return {};
    const Entry wanted = {process_of(work), number, 0};
    const auto found =
        std::lower_bound(all_.begin(), all_.end(), wanted, [](const Entry& a, const Entry& b) {
          return std::tie(a.process, a.number) < std::tie(b.process, b.number);
        });
    const bool is_there =
        found != all_.end() && found->process == wanted.process && found->number == number;
    return is_there ? SpanId(found->row) : SpanId();
  }

 private:
  struct Entry {
    std::uint32_t process;
    std::int64_t number;
    std::uint32_t row;
  };

  std::uint32_t process_of(SpanId span) const {
    const TrackId track = trace_.spans().track[span];
    return track.valid() ? trace_.tracks().process[track].value() : ProcessId::kInvalid;
  }

  const Trace& trace_;
  std::vector<Entry> all_;
};

}  // namespace

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
  SpansByNumber calls(trace_);
  SpansByNumber operators(trace_);
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = spans.kind[span];
    if (is_work(kind)) {
      all_.push_back({SpanId(), span});
    } else if (is_operator(kind)) {
      operators.add(spans.external_id[span], span);
    } else if (device_of(kind) == DeviceType::Cpu) {
      calls.add(spans.correlation[span], span);
    }
  }
  calls.sort();
  operators.sort();
  for (Launch& launch : all_) {
    launch.host = calls.find(spans.correlation[launch.work], launch.work);
    if (!launch.host.valid())
      launch.host = operators.find(spans.external_id[launch.work], launch.work);
  }
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
