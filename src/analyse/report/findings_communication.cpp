// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Communication between ranks that nothing overlaps.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/sum.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

constexpr const char* kAdvice =
    "Send gradients while others are still being computed (smaller DDP buckets), send fewer, or "
    "send them in half precision. Check whether one rank is always late.";

void between_devices(const ReportData& data, Report& report) {
  Nanos exposed_ns = 0;
  Nanos total_ns = 0;
  std::uint64_t count = 0;
  for (const DeviceTime& device : report.devices) {
    add_to(exposed_ns, device.communication.union_ns - device.communication_hidden_ns);
    add_to(total_ns, device.communication.union_ns);
    count += device.communication.count;
  }
  if (!is_worth_saying(report, exposed_ns)) return;
  WorstSpans spans;
  Communication communicates(report.trace);
  for (const DeviceWork& device : data.work)
    for (const Work& work : device.work)
      if (communicates.is(work.span)) spans.add(work.end_ns - work.begin_ns, work.span);
  report.findings.push_back(
      {.id = "exposed_communication",
       .title = "Devices communicate while nothing computes",
       .detail =
           format_text("Communication took {}: {} of it ran alone, {} overlapped with kernels.",
                       duration_text(total_ns), duration_text(exposed_ns),
                       share_text(total_ns - exposed_ns, total_ns)),
       .advice = kAdvice,
       .command = "sonde table TRACE --sort-by self_device_time_total",
       .saving_ns = exposed_ns,
       .count = count,
       .spans = spans.take()});
}

// Time in which a process communicated and neither ran an operator nor used a device.
void between_hosts(const ReportData& data, Report& report) {
  Nanos total_ns = 0;
  Nanos exposed_ns = 0;
  for (std::size_t row = 0; row < report.trace.processes().size(); ++row) {
    const ProcessId process(row);
    const Coverage& communication = data.collectives_of(process);
    if (communication.empty()) continue;
    Stretches busy = data.operators_of(process);
    if (const ProcessDevices* const devices = data.devices_of(process)) busy.add(devices->busy);
    add_to(total_ns, communication.total_ns());
    add_to(exposed_ns, communication.total_ns() - overlap_ns(communication, busy.united()));
  }
  WorstSpans spans;
  for (const SpanId span : data.host_collectives())
    spans.add(report.trace.spans().duration_ns[span], span);
  if (!is_worth_saying(report, exposed_ns)) return;
  const std::uint64_t count = spans.count();
  report.findings.push_back(
      {.id = "waiting_for_ranks",
       .title = "Ranks wait for each other while nothing computes",
       .detail = format_text("The host communicated for {}. For {} of that, this process ran no "
                             "operator and no kernel.",
                             duration_text(total_ns), duration_text(exposed_ns)),
       .advice = kAdvice,
       .command = "sonde table TRACE --sort-by cpu_time_total",
       .saving_ns = exposed_ns,
       .count = count,
       .spans = spans.take()});
}

}  // namespace

void find_in_communication(const ReportData& data, Report& report) {
  between_devices(data, report);
  between_hosts(data, report);
}

}  // namespace sonde::detail
