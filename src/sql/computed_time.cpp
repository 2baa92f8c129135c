// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `steps`, `streams` and `gaps`: where the time went.

#include <algorithm>

#include "sonde/analyse/device_time.h"
#include "sonde/analyse/steps.h"
#include "sql/computed.h"

namespace sonde::sql {
namespace {

std::int64_t or_null(Nanos value) {
  return value < 0 ? kNull : value;
}

struct StreamTime {
  std::int64_t count = 0;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  Nanos busy_ns = 0;
};

// Spans of a track are ordered by begin.
StreamTime stream_time(const Trace& trace, TrackId track) {
  StreamTime time;
  for (const SpanId span : trace.track_spans(track)) {
    if (!is_device_work(trace.spans().kind[span])) continue;
    const Nanos begin = trace.spans().start_ns[span];
    const Nanos end = trace.end_ns(span);
    if (time.count++ == 0) time.begin_ns = time.end_ns = begin;
    time.busy_ns += std::max<Nanos>(0, end - std::max(begin, time.end_ns));
    time.end_ns = std::max(time.end_ns, end);
  }
  return time;
}

}  // namespace

Part steps_part(Source& source) {
  ComputedPart part(source);
  auto& step = part.integer("step", "Its number");
  auto& span = part.reference("span", TableKind::Spans, "");
  auto& process = part.reference("process", TableKind::Processes, "");
  auto& start = part.nanos("start_ns", "");
  auto& duration = part.nanos("duration_ns", "");
  auto& operators = part.nanos("in_operators_ns", "While its thread was in operators or calls");
  auto& busy = part.nanos("device_busy_ns", "While some device worked");
  auto& idle = part.nanos("device_idle_ns", "The rest of the step");
  auto& copies = part.nanos("copies_ns", "While some copy or fill ran");
  auto& peak = part.bytes("peak_bytes", "Most memory that was held on one device");
  auto& outlier = part.integer("is_outlier", "1: it took far longer than the others");
  auto& why = part.text("why", "What took longer, of an outlier");
  const StepTimes times = step_times(part.trace());
  for (const StepTime& row : times.steps) {
    step.push_back(row.step < 0 ? kNull : row.step);
    span.push_back(row.span.value());
    process.push_back(row.process.value());
    start.push_back(row.begin_ns);
    duration.push_back(row.host_ns());
    operators.push_back(row.in_operators_ns);
    busy.push_back(or_null(row.device_busy_ns));
    idle.push_back(or_null(row.device_idle_ns));
    copies.push_back(row.copies_ns);
    peak.push_back(or_null(row.peak_bytes));
    outlier.push_back(row.is_outlier ? 1 : 0);
    why.push_back(row.why);
  }
  return part.finish(times.steps.size());
}

Part streams_part(Source& source) {
  ComputedPart part(source);
  const Trace& trace = part.trace();
  auto& track = part.reference("track", TableKind::Tracks, "");
  auto& device = part.integer("device_index", "");
  auto& number = part.integer("stream", "Its number");
  auto& count = part.integer("work", "Kernels, copies and fills");
  auto& start = part.nanos("start_ns", "Of the first of them");
  auto& end = part.nanos("end_ns", "Of the last of them");
  auto& busy = part.nanos("busy_ns", "While some of them ran");
  auto& idle = part.nanos("idle_ns", "The rest of the time between start and end");
  std::size_t rows = 0;
  for (std::size_t i = 0; i < trace.tracks().size(); ++i) {
    const StreamTime time = stream_time(trace, TrackId(i));
    if (time.count == 0) continue;
    track.push_back(static_cast<std::int64_t>(i));
    device.push_back(or_null(trace.tracks().device_index[i]));
    number.push_back(trace.tracks().id[i]);
    count.push_back(time.count);
    start.push_back(time.begin_ns);
    end.push_back(time.end_ns);
    busy.push_back(time.busy_ns);
    idle.push_back(time.end_ns - time.begin_ns - time.busy_ns);
    ++rows;
  }
  return part.finish(rows);
}

Part gaps_part(Source& source) {
  ComputedPart part(source);
  auto& process = part.reference("process", TableKind::Processes, "");
  auto& device_index = part.integer("device_index", "");
  auto& start = part.nanos("start_ns", "");
  auto& duration = part.nanos("duration_ns", "");
  auto& cause = part.text("cause", "host wait, kernel wait or other");
  auto& work = part.reference("work", TableKind::Spans, "The work that ended it");
  std::size_t rows = 0;
  for (const DeviceTime& device : device_times(part.trace())) {
    for (const DeviceGap& gap : device.gaps) {
      process.push_back(device.process.value());
      device_index.push_back(device.device);
      start.push_back(gap.begin_ns);
      duration.push_back(gap.length_ns());
      cause.emplace_back(to_string(gap.cause));
      work.push_back(gap.after.value());
      ++rows;
    }
  }
  return part.finish(rows);
}

}  // namespace sonde::sql
