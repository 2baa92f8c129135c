// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/host_calls.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/run_sort.h"
#include "base/sum.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// How far a device's times may be off from the host's.
constexpr Nanos kClockSlackNs = 2'000;
// A launch takes microseconds.
constexpr Nanos kLeastQueueWaitNs = 100'000;

// A property of names, computed once per name.
class NameSet {
 public:
  NameSet(const Trace& trace, bool (*holds)(std::string_view) noexcept)
      : trace_(trace), holds_(holds) {
    known_.assign(trace.strings().size(), kUnknown);
  }
  bool has(StringId name) {
    if (!name.valid()) return false;
    std::uint8_t& state = known_[name.index()];
    if (state == kUnknown) state = holds_(trace_.string(name)) ? kYes : kNo;
    return state == kYes;
  }

 private:
  static constexpr std::uint8_t kUnknown = 0;
  static constexpr std::uint8_t kNo = 1;
  static constexpr std::uint8_t kYes = 2;
  const Trace& trace_;
  bool (*holds_)(std::string_view) noexcept;
  std::vector<std::uint8_t> known_;
};

}  // namespace

HostCalls::HostCalls(const Trace& trace) : trace_(trace) {
  collect_waits();
}

std::uint32_t HostCalls::process_of(SpanId span) const noexcept {
  const TrackId track = trace_.spans().track[span];
  return track.valid() ? trace_.tracks().process[track].value() : ProcessId::kInvalid;
}

// A copying call that returns only when the copy is done has waited for it.
void HostCalls::mark_blocking_copies(std::vector<std::uint32_t>& waiting) const {
  const CopyTable& copies = trace_.copies();
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const SpanId copy = copies.span[i];
    if (!copy.valid() || trace_.spans().kind[copy] != SpanKind::GpuMemcpy) continue;
    const SpanId call = trace_.spans().launch[copy];
    if (!call.valid() || !copies_memory(trace_.name(call))) continue;
    if (trace_.end_ns(call) >= trace_.end_ns(copy)) waiting.push_back(call.value());
  }
}

// A device takes about a thousand launches in advance. The next one waits until it has done some:
// the call takes long, and what it launched begins long after.
void HostCalls::mark_full_queues(std::vector<std::uint32_t>& waiting) const {
  const SpanTable& spans = trace_.spans();
  for (const SpanId work : trace_.all_spans()) {
    const SpanId call = spans.launch[work];
    if (!call.valid() || !is_call(spans.kind[call])) continue;
    const Nanos length_ns = spans.duration_ns[call];
    Nanos later_ns = spans.start_ns[work];
    take_from(later_ns, trace_.end_ns(call));
    if (length_ns >= kLeastQueueWaitNs && later_ns > length_ns) waiting.push_back(call.value());
  }
}

void HostCalls::collect_waits() {
  const SpanTable& spans = trace_.spans();
  std::vector<std::uint32_t> waiting;
  NameSet waits(trace_, waits_for_device);
  for (const SpanId span : trace_.all_spans()) {
    if (is_call(spans.kind[span]) && waits.has(spans.name[span])) waiting.push_back(span.value());
  }
  mark_blocking_copies(waiting);
  mark_full_queues(waiting);
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  for (const std::uint32_t row : waiting) {
    const SpanId span(row);
    waits_.push_back({process_of(span), spans.start_ns[span], span, span});
  }
  run_sort(waits_, [](const Wait& a, const Wait& b) {
    return std::tie(a.process, a.begin_ns) < std::tie(b.process, b.begin_ns);
  });
  for (std::size_t i = 1; i < waits_.size(); ++i) {
    if (waits_[i].process != waits_[i - 1].process) continue;
    const SpanId before = waits_[i - 1].longest;
    if (trace_.end_ns(before) > trace_.end_ns(waits_[i].span)) waits_[i].longest = before;
  }
}

SpanId HostCalls::wait_at(ProcessId process, Nanos time_ns) const noexcept {
  const Wait wanted{process.value(), time_ns, {}, {}};
  const auto after =
      std::upper_bound(waits_.begin(), waits_.end(), wanted, [](const Wait& a, const Wait& b) {
        return std::tie(a.process, a.begin_ns) < std::tie(b.process, b.begin_ns);
      });
  if (after == waits_.begin()) return {};
  const Wait& last = *std::prev(after);
  if (last.process != wanted.process) return {};
  return trace_.end_ns(last.longest) + kClockSlackNs >= time_ns ? last.longest : SpanId();
}

std::vector<SpanId> HostCalls::waits() const {
  std::vector<SpanId> all;
  all.reserve(waits_.size());
  for (const Wait& wait : waits_) all.push_back(wait.span);
  return all;
}

}  // namespace sonde::detail
