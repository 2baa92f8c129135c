// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/host_work.h"

#include <algorithm>
#include <string_view>

#include "analyse/operators/views.h"
#include "analyse/time/launches.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

// Operators that only allocate or decide take less.
constexpr Nanos kLeastComputingNs = 50'000;
// Between two operators Python takes a few microseconds; longer pauses are other code.
constexpr Nanos kLeastOtherCodeNs = 50'000;

bool loads_kernels(std::string_view call) {
  return call.find("ModuleLoad") != std::string_view::npos ||
         call.find("LibraryLoad") != std::string_view::npos;
}

bool calls_device(const Trace& trace, SpanId span) {
  const std::uint32_t end = rows_end(trace, span);
  for (std::uint32_t row = span.value() + 1; row < end; ++row)
    if (is_call(trace.spans().kind[SpanId(row)])) return true;
  return false;
}

// How long operators ran that may have computed something, of those that call no other: not views,
// nor allocating, which may ask the driver for memory where the trace does not show it.
Nanos computing_ns(const Trace& trace, SpanId outer) {
  const SpanTable& spans = trace.spans();
  const std::uint32_t end = rows_end(trace, outer);
  Nanos total_ns = 0;
  const auto add = [&](SpanId innermost) {
    if (!leaves_data_alone(trace.name(innermost))) add_to(total_ns, spans.duration_ns[innermost]);
  };
  SpanId last = outer;
  for (std::uint32_t row = outer.value() + 1; row < end; ++row) {
    const SpanId span(row);
    if (spans.kind[span] != SpanKind::CpuOp) continue;
    if (row >= rows_end(trace, last)) add(last);
    last = span;
  }
  add(last);
  return total_ns;
}

// Whether an operator computed something itself: long enough, and it asked no device for anything.
bool computes(const ReportData& data, SpanId span) {
  const SpanTable& spans = data.trace.spans();
  if (spans.kind[span] != SpanKind::CpuOp || spans.duration_ns[span] < kLeastComputingNs)
    return false;
  return data.program().launches().below(span).empty() && !calls_device(data.trace, span) &&
         computing_ns(data.trace, span) >= kLeastComputingNs;
}

}  // namespace

bool does_work(const Trace& trace, SpanId op) {
  return computing_ns(trace, op) >= trace.spans().duration_ns[op] / 4;
}

HostWork::HostWork(const ReportData& data, TrackId thread) : trace_(data.trace) {
  Stretches loading;
  for (const SpanId span : data.loading)
    if (trace_.spans().track[span] == thread)
      loading.add(trace_.spans().start_ns[span], trace_.end_ns(span));
  const Coverage loads = loading.united();
  find_loading_kernels(thread);
  find_operators(data, thread, loads);
  find_outside(data, thread, loads);
}

void HostWork::find_loading_kernels(TrackId thread) {
  for (const SpanId span : trace_.track_spans(thread))
    if (is_call(trace_.spans().kind[span]) && loads_kernels(trace_.name(span)))
      loading_kernels_.add(trace_.spans().start_ns[span], trace_.end_ns(span));
}

void HostWork::find_operators(const ReportData& data, TrackId thread, const Coverage& loading) {
  Nanos until_ns = trace_.first_ns();
  for (const SpanId span : trace_.track_spans(thread)) {
    const SpanKind kind = trace_.spans().kind[span];
    if ((kind != SpanKind::CpuOp && !is_call(kind)) || trace_.end_ns(span) <= until_ns) continue;
    until_ns = trace_.end_ns(span);
    const Nanos begin_ns = trace_.spans().start_ns[span];
    const bool loads = loading.within_ns(begin_ns, until_ns) > 0;
    outer_.push_back({span, !loads && computes(data, span)});
    if (outer_.back().computes) computing_.add(begin_ns, until_ns);
  }
}

void HostWork::find_outside(const ReportData& data, TrackId thread, const Coverage& loading) {
  Stretches occupied;
  occupied.add(loading);
  occupied.add(data.in_operators(thread));
  const Coverage all = occupied.united();
  for (std::size_t i = 1; i < all.stretches().size(); ++i) {
    const Nanos begin_ns = all.stretches()[i - 1].end_ns;
    const Nanos end_ns = all.stretches()[i].begin_ns;
    if (end_ns - begin_ns >= kLeastOtherCodeNs) outside_.add(begin_ns, end_ns);
  }
  Stretches other;
  other.add(loading);
  other.add(computing_);
  other.add(loading_kernels_);
  other.add(outside_);
  other_work_ = other.united();
}

SpanId HostWork::longest_in(Nanos begin_ns, Nanos end_ns) const {
  return longest(begin_ns, end_ns, false);
}

SpanId HostWork::launching_in(Nanos begin_ns, Nanos end_ns) const {
  return longest(begin_ns, end_ns, true);
}

SpanId HostWork::longest(Nanos begin_ns, Nanos end_ns, bool only_launching) const {
  auto at = std::upper_bound(
      outer_.begin(), outer_.end(), begin_ns,
      [this](Nanos time, const Outer& one) { return time < trace_.end_ns(one.span); });
  SpanId longest;
  Nanos most_ns = 0;
  for (; at != outer_.end() && trace_.spans().start_ns[at->span] < end_ns; ++at) {
    const Nanos both_ns = std::min(end_ns, trace_.end_ns(at->span)) -
                          std::max(begin_ns, trace_.spans().start_ns[at->span]);
    if (both_ns <= most_ns || (only_launching && at->computes)) continue;
    most_ns = both_ns;
    longest = at->span;
  }
  return longest;
}

}  // namespace sonde::detail
