// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the host does while a device has nothing to do, and what is not launching: computing on its
// own, and code outside operators.

#include <algorithm>
#include <utility>

#include "analyse/report/findings.h"
#include "analyse/report/gaps.h"
#include "analyse/report/host_work.h"
#include "analyse/report/waiting.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

// What some thread of the process was in at that time: the launching thread first.
SpanId doing_at(const ReportData& data, TrackId thread, Nanos time_ns) {
  const SpanId own = innermost_at(data.trace, thread, time_ns);
  if (own.valid()) return own;
  SpanId found;
  data.for_threads(data.trace.tracks().process[thread], [&](TrackId other) {
    if (!found.valid()) found = innermost_at(data.trace, other, time_ns);
  });
  return found;
}

// Calls visit(thread, begin, end) for each time in which a device had nothing to do and the thread
// that launches its work was outside operators.
template <typename Visit>
void for_program_gaps(const ReportData& data, const Report& report, Visit visit) {
  for_gaps(data.usual, report, [&](const DeviceGap& gap, Nanos begin_ns, Nanos /*end_ns*/) {
    const TrackId thread = launching_thread(data.trace, gap);
    if (gap.cause != IdleCause::HostWait || gap.host == HostDoing::Communicated || !thread.valid())
      return;
    const Nanos from_ns = std::max(begin_ns, wait_end_ns(data.trace, gap));
    const Nanos until_ns = launch_ns(data.trace, gap, from_ns);
    visit(thread, from_ns, until_ns);
  });
}

void slow_program(const ReportData& data, Report& report) {
  Evidence seen(data);
  Launchers launchers(data);
  TrackId launcher;
  for_program_gaps(data, report, [&](TrackId thread, Nanos from_ns, Nanos until_ns) {
    Nanos outside_ns = 0;
    std::pair<Nanos, Nanos> longest{0, 0};
    for_covered(launchers.of(thread).outside(), from_ns, until_ns, [&](Nanos at_ns, Nanos to_ns) {
      outside_ns += to_ns - at_ns;
      if (to_ns - at_ns > longest.second - longest.first) longest = {at_ns, to_ns};
    });
    if (outside_ns == 0) return;
    const Nanos middle_ns = longest.first + (longest.second - longest.first) / 2;
    seen.add(doing_at(data, thread, middle_ns), thread, longest.first, longest.first + outside_ns);
    launcher = thread;
  });
  if (seen.empty()) return;
  const Waiting waiting = waiting_of(data, report, launcher, seen);
  Finding finding{
      .id = "host_bound",
      .title = "The device waits while the host runs code outside operators",
      .detail = format_text("The thread that launches the work was outside operators: {}.{}",
                            seen.lengths(), waiting.text()),
      .advice = waiting.is_promised()
                    ? "Look at what runs between operators: loading and preparing data, Python "
                      "code, logging, file access. Do it in another thread or process, ahead of "
                      "time, or less often."
                    : "If the program is a server, it had nothing to do. Otherwise see what it "
                      "waits for, and mark that (record_function).",
      .command = "sonde critical-path TRACE"};
  if (!waiting.is_promised())
    return add_known(report, std::move(finding), seen, seen.total_ns(), 0);
  Changes changes(data.program());
  for_program_gaps(data, report, [&](TrackId thread, Nanos from_ns, Nanos until_ns) {
    for_covered(launchers.of(thread).outside(), from_ns, until_ns, [&](Nanos at_ns, Nanos to_ns) {
      changes.cut(thread, at_ns, to_ns, waiting.left());
    });
  });
  add_simulated(data, report, std::move(finding), seen, seen.total_ns(), changes);
}

// Operators on tensors of the host, which launch nothing.
void slow_computing(const ReportData& data, Report& report) {
  Evidence seen(data);
  Changes changes(data.program());
  Launchers launchers(data);
  for_program_gaps(data, report, [&](TrackId thread, Nanos from_ns, Nanos until_ns) {
    const HostWork& host = launchers.of(thread);
    for_covered(host.computing(), from_ns, until_ns, [&](Nanos at_ns, Nanos to_ns) {
      if (data.round_trips.within_ns(at_ns, to_ns) > 0) return;
      changes.cut(thread, at_ns, to_ns);
      seen.add(host.longest_in(at_ns, to_ns), thread, at_ns, to_ns);
    });
  });
  if (seen.empty()) return;
  add_simulated(
      data, report,
      {.id = "host_computes",
       .title = "The device waits while the host computes",
       .detail = format_text("Operators that launched nothing ran on tensors of the host, "
                             "and the device had nothing to do: {}. The saving assumes "
                             "that they take no time there.",
                             seen.lengths()),
       .advice = "Create these tensors on the device (device=\"cuda\") and compute there, "
                 "or once before the loop. What prepares data belongs to the workers of "
                 "a DataLoader.",
       .command = "sonde table TRACE --sort-by self_cpu_time_total"},
      seen, seen.total_ns(), changes);
}

void loaded_kernels(const ReportData& data, Report& report) {
  Evidence seen(data);
  Launchers launchers(data);
  for_program_gaps(data, report, [&](TrackId thread, Nanos from_ns, Nanos until_ns) {
    const HostWork& host = launchers.of(thread);
    for_covered(host.loading_kernels(), from_ns, until_ns, [&](Nanos at_ns, Nanos to_ns) {
      seen.add(host.longest_in(at_ns, to_ns), thread, at_ns, to_ns);
    });
  });
  if (seen.empty()) return;
  add_known(report,
            {.id = "loading_kernels",
             .title = "Kernels are loaded at their first use",
             .detail = format_text("The driver loaded kernels while the device had nothing to do: "
                                   "{}. It happens once for each.",
                                   seen.lengths()),
             .advice = "Leave the first steps out of measurements. A server can run each kind of "
                       "request once before it takes any, or set CUDA_MODULE_LOADING=EAGER.",
             .command = "sonde table TRACE --sort-by cpu_time_total"},
            seen, seen.total_ns(), 0);
}

}  // namespace

void find_idle_hosts(const ReportData& data, Report& report) {
  loaded_kernels(data, report);
  slow_program(data, report);
  slow_computing(data, report);
}

}  // namespace sonde::detail
