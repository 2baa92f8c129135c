// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/trace_answers.h"

#include <algorithm>

namespace sonde::detail {
namespace {

RowsOfSpan extras_of_spans(const Trace& trace) {
  const ExtraTable& extras = trace.extras();
  return {extras.size(), [&](std::uint32_t row) {
            const bool is_span = extras.of_table[row] == TableKind::Spans &&
                                 extras.of_row[row] < trace.spans().size();
            return is_span ? SpanId(extras.of_row[row]) : SpanId();
          }};
}

std::vector<QueueChange> queue_changes(const TraceAnswers& answers) {
  const Trace& trace = answers.trace();
  const SpanTimes& times = answers.index().times();
  std::vector<QueueChange> out;
  for (const Launch& launch : answers.launches().all()) {
    const TrackId track = trace.spans().track[launch.work];
    if (!launch.host.valid() || !track.valid()) continue;
    const ProcessId process = trace.tracks().process[track];
    const std::int32_t device = trace.tracks().device_index[track];
    const Nanos end = times.end(launch.work.value());
    out.push_back({process, device, std::min(times.begin(launch.host.value()), end), 1});
    out.push_back({process, device, end, -1});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const QueueChange& a, const QueueChange& b) { return a.at < b.at; });
  return out;
}

}  // namespace

SpanRows::SpanRows(const Trace& trace)
    : kernels(trace.kernels().span),
      copies(trace.copies().span),
      syncs(trace.syncs().span),
      collectives(trace.collectives().span),
      extras(extras_of_spans(trace)),
      flows_from(trace.flows().from_span),
      flows_to(trace.flows().to_span) {}

const SpanRows& TraceAnswers::rows() const {
  return rows_.get([&] { return SpanRows(trace()); });
}
const Launches& TraceAnswers::launches() const {
  return launches_.get([&] { return Launches(trace()); });
}
const Report& TraceAnswers::report() const {
  return report_.get([&] { return sonde::report(trace()); });
}
const std::vector<DeviceTime>& TraceAnswers::devices() const {
  return devices_.get([&] { return device_times(trace()); });
}
const MemoryProfile& TraceAnswers::memory() const {
  return memory_.get([&] { return memory_profile(trace()); });
}
const std::vector<QueueChange>& TraceAnswers::queue() const {
  return queue_.get([&] { return queue_changes(*this); });
}
const EventList& TraceAnswers::events() const {
  return events_.get([&] { return function_events(trace()); });
}

}  // namespace sonde::detail
