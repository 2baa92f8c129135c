// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Communication between ranks that nothing overlaps.

#include <string>

#include "analyse/report/findings.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

bool is_kernel(const Trace& trace, const Work& work) {
  return span_class(trace.spans().kind[work.span]) == SpanClass::Kernel;
}

constexpr const char* kAdvice =
    "Send gradients while others are still being computed (smaller DDP buckets), send fewer, or "
    "send them in half precision. Check whether one rank is always late.";

// Of the steady time, what one covers and the other does not.
Nanos exclusive_ns(const ReportData& data, const Coverage& one, const Coverage& other) {
  Nanos total_ns = 0;
  for (const Coverage::Stretch& step : data.steady.covers.stretches())
    for_covered(one, step.begin_ns, step.end_ns, [&](Nanos from_ns, Nanos to_ns) {
      add_to(total_ns, to_ns - from_ns - other.within_ns(from_ns, to_ns));
    });
  return total_ns;
}

void between_devices(const ReportData& data, Report& report) {
  Communication communicates(report.trace);
  Evidence seen(data);
  Changes changes(data.program());
  Nanos total_ns = 0;
  for (const DeviceWork& device : data.work) {
    Coverage compute;
    Coverage communication;
    for (const Work& work : device.work)
      if (is_kernel(report.trace, work))
        (communicates.is(work.span) ? communication : compute).add(work.begin_ns, work.end_ns);
    const double hidden_share = could_overlap(data, communication, compute);
    for (const Work& work : device.work) {
      if (!is_kernel(report.trace, work) || !communicates.is(work.span)) continue;
      if (!data.steady.has(work.begin_ns)) continue;
      const Nanos hidden_ns = compute.within_ns(work.begin_ns, work.end_ns);
      const Nanos alone_ns = work.end_ns - work.begin_ns - hidden_ns;
      add_to(total_ns, work.end_ns - work.begin_ns);
      if (alone_ns <= 0) continue;
      seen.add(work.span, report.trace.spans().track[work.span], work.begin_ns,
               work.begin_ns + alone_ns);
      const auto whole = static_cast<double>(work.end_ns - work.begin_ns);
      changes.scale(work.span, 1 - hidden_share * static_cast<double>(alone_ns) / whole);
    }
  }
  if (seen.empty()) return;
  add_simulated(
      data, report,
      {.id = "exposed_communication",
       .title = "Devices communicate while nothing computes",
       .detail = format_text("Communication took {}; {} of it ran alone. The saving assumes "
                             "that it overlaps with kernels, as far as there are any.",
                             duration_text(total_ns), duration_text(seen.total_ns())),
       .advice = kAdvice,
       .command = "sonde table TRACE --sort-by self_device_time_total"},
      seen, seen.total_ns(), changes);
}

// Time in which a process communicated and neither ran an operator nor used a device, each moment
// once, whatever the number of its threads.
void between_hosts(const ReportData& data, Report& report) {
  Nanos total_ns = 0;
  Nanos alone_ns = 0;
  Evidence seen(data);
  Changes changes(data.program());
  for (std::size_t row = 0; row < report.trace.processes().size(); ++row) {
    const ProcessId process(row);
    const Coverage& communication = data.collectives_of(process);
    if (communication.empty()) continue;
    Stretches all = data.operators_of(process);
    if (const ProcessDevices* const devices = data.devices_of(process)) all.add(devices->busy);
    const Coverage busy = all.united();
    add_to(total_ns, overlap_ns(communication, data.steady.covers));
    for (const Coverage::Stretch& one : communication.stretches()) {
      for_uncovered(busy, one.begin_ns, one.end_ns, [&](Nanos from_ns, Nanos to_ns) {
        const Nanos within_ns = data.steady.covers.within_ns(from_ns, to_ns);
        if (within_ns == 0) return;
        add_to(alone_ns, within_ns);
        data.for_threads(process, [&](TrackId thread) { changes.cut(thread, from_ns, to_ns); });
      });
    }
  }
  for (const SpanId span : data.host_collectives()) {
    const Nanos begin_ns = report.trace.spans().start_ns[span];
    if (data.steady.has(begin_ns))
      seen.add(span, report.trace.spans().track[span], begin_ns, report.trace.end_ns(span));
  }
  if (seen.empty()) return;
  const bool has_devices = !report.devices.empty();
  add_simulated(
      data, report,
      {.id = "waiting_for_ranks",
       .title = "Ranks wait for each other while nothing computes",
       .detail = format_text(
           "The host communicated for {}. For {} of that, this process ran no operator and no "
           "kernel.{}",
           duration_text(total_ns), duration_text(alone_ns),
           has_devices ? " It communicates on the host although it uses a device." : ""),
       .advice =
           std::string(kAdvice) +
           (has_devices ? " If the tensors are on CUDA devices, use NCCL in place of gloo." : ""),
       .command = "sonde table TRACE --sort-by cpu_time_total"},
      seen, alone_ns, changes);
}

}  // namespace

double could_overlap(const ReportData& data, const Coverage& moving, const Coverage& computing) {
  const Nanos moving_ns = exclusive_ns(data, moving, computing);
  const Nanos computing_ns = exclusive_ns(data, computing, moving);
  if (moving_ns <= computing_ns) return 1;
  return static_cast<double>(computing_ns) / static_cast<double>(moving_ns);
}

void find_in_communication(const ReportData& data, Report& report) {
  between_devices(data, report);
  between_hosts(data, report);
}

}  // namespace sonde::detail
