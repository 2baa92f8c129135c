// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/host_work.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "analyse/operators/views.h"
#include "analyse/time/launches.h"
#include "base/sum.h"
#include "trace/known_names.h"

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

// Calling an operator and its kernel takes less.
constexpr Nanos kLongestCallNs = 5'000;

// How long operators ran that may have computed something: not views, nor allocating, which may ask
// the driver for memory where the trace does not show it. What an operator takes besides those that
// it calls counts if it is more than a call; gradients leave all work to others.
Nanos computing_ns(const Trace& trace, SpanId outer) {
  const SpanTable& spans = trace.spans();
  const std::uint32_t end = rows_end(trace, outer);
  Nanos total_ns = 0;
  struct Open {
    SpanId span;
    Nanos own_ns;
    bool calls_others;
  };
  std::vector<Open> open;
  const auto close = [&] {
    const Open one = open.back();
    open.pop_back();
    const bool may_compute = !one.calls_others || (one.own_ns >= kLongestCallNs &&
                                                   trace.name(one.span).starts_with("aten::"));
    if (may_compute && !leaves_data_alone(trace.name(one.span)))
      add_to(total_ns, std::max<Nanos>(one.own_ns, 0));
  };
  for (std::uint32_t row = outer.value(); row < end; ++row) {
    const SpanId span(row);
    if (spans.kind[span] != SpanKind::CpuOp) continue;
    while (!open.empty() && spans.start_ns[span] >= trace.end_ns(open.back().span)) close();
    if (!open.empty()) {
      take_from(open.back().own_ns, spans.duration_ns[span]);
      open.back().calls_others = true;
    }
    open.push_back({span, spans.duration_ns[span], false});
  }
  while (!open.empty()) close();
  return total_ns;
}

// Whether an operator computed something itself: long enough, and it asked no device for anything.
bool computes(const ReportData& data, SpanId span) {
  const SpanTable& spans = data.trace.spans();
  if (spans.kind[span] != SpanKind::CpuOp || spans.duration_ns[span] < kLeastComputingNs)
    return false;
  if (communicates_on_host(data.trace.name(span))) return false;
  return data.program().launches().below(span).empty() && !calls_device(data.trace, span) &&
         computing_ns(data.trace, span) >= kLeastComputingNs;
}

// What has findings of its own: loading data, and in steady steps compilation and memory from the
// driver.
Coverage told_elsewhere(const ReportData& data, TrackId thread) {
  const Trace& trace = data.trace;
  Stretches told;
  for (const SpanId span : data.loading)
    if (trace.spans().track[span] == thread)
      told.add(trace.spans().start_ns[span], trace.end_ns(span));
  if (data.steady.rule == StepRule::None) return told.united();
  std::vector<bool> is_told(trace.strings().size());
  for (std::size_t i = 0; i < is_told.size(); ++i) {
    const std::string_view name = trace.string(StringId(i));
    is_told[i] = asks_driver_for_memory(name) || compiles(name);
  }
  for (const SpanId span : trace.track_spans(thread)) {
    const StringId name = trace.spans().name[span];
    if (!name.valid() || !is_told[name.index()]) continue;
    if (!is_call(trace.spans().kind[span]) && !compiles(trace.string(name))) continue;
    told.add(trace.spans().start_ns[span], trace.end_ns(span));
  }
  return told.united();
}

}  // namespace

bool does_work(const Trace& trace, SpanId op) {
  return computing_ns(trace, op) >= trace.spans().duration_ns[op] / 4;
}

bool has_any(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [name](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

bool asks_driver_for_memory(std::string_view call) {
  if (call.starts_with("cudaMallocAsync") || call.starts_with("cudaFreeAsync")) return false;
  return has_any(call, {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cuMemAlloc", "cuMemFree",
                        "cuMemCreate", "cuMemMap", "hipMalloc", "hipFree"});
}

// What torch.compile calls its own compilation.
bool compiles(std::string_view name) {
  return has_any(name, {"entire_frame_compile", "_compile.compile_inner", "compile_fx_inner",
                        "dynamo: compile", "convert_frame.compile"});
}

HostWork::HostWork(const ReportData& data, TrackId thread) : trace_(data.trace) {
  const Coverage told = told_elsewhere(data, thread);
  find_loading_kernels(thread);
  find_operators(data, thread, told);
  find_outside(data, thread, told);
}

void HostWork::find_loading_kernels(TrackId thread) {
  for (const SpanId span : trace_.track_spans(thread))
    if (is_call(trace_.spans().kind[span]) && loads_kernels(trace_.name(span)))
      loading_kernels_.add(trace_.spans().start_ns[span], trace_.end_ns(span));
}

void HostWork::find_operators(const ReportData& data, TrackId thread, const Coverage& told) {
  Nanos until_ns = trace_.first_ns();
  for (const SpanId span : trace_.track_spans(thread)) {
    const SpanKind kind = trace_.spans().kind[span];
    if ((kind != SpanKind::CpuOp && !is_call(kind)) || trace_.end_ns(span) <= until_ns) continue;
    until_ns = trace_.end_ns(span);
    const Nanos begin_ns = trace_.spans().start_ns[span];
    const bool is_told = told.within_ns(begin_ns, until_ns) > 0;
    outer_.push_back({span, !is_told && computes(data, span)});
    if (outer_.back().computes) computing_.add(begin_ns, until_ns);
  }
}

void HostWork::find_outside(const ReportData& data, TrackId thread, const Coverage& told) {
  Stretches occupied;
  occupied.add(told);
  occupied.add(data.in_operators(thread));
  const Coverage all = occupied.united();
  for (std::size_t i = 1; i < all.stretches().size(); ++i) {
    const Nanos begin_ns = all.stretches()[i - 1].end_ns;
    const Nanos end_ns = all.stretches()[i].begin_ns;
    if (end_ns - begin_ns >= kLeastOtherCodeNs) outside_.add(begin_ns, end_ns);
  }
  Stretches other;
  other.add(told);
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
