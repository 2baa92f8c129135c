// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What keeps devices from working.

#include <algorithm>
#include <string>
#include <string_view>

#include "analyse/report/findings.h"
#include "analyse/report/gaps.h"
#include "analyse/report/host_work.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Launching a kernel takes the host about this long.
constexpr Nanos kSmallKernelNs = 10'000;
// From one kernel to the next within a CUDA graph.
constexpr Nanos kDelayInGraphNs = 1'000;

void stalls(const ReportData& data, Report& report) {
  Evidence seen(data);
  Changes changes(data.program());
  Launchers launchers(data);
  for_gaps(data.steady.covers, report, [&](const DeviceGap& gap, Nanos begin_ns, Nanos end_ns) {
    if (gap.cause != IdleCause::HostWait || !gap.wait.valid()) return;
    // A copy that waits has a finding of its own, and so has what the host did after the wait
    // besides launching.
    if (gap.host == HostDoing::Communicated || copies_memory(data.trace.name(gap.wait))) return;
    const TrackId thread = launching_thread(data.trace, gap);
    Nanos stalled_ns = end_ns - begin_ns;
    if (thread.valid()) {
      const Nanos from_ns = std::max(begin_ns, wait_end_ns(data.trace, gap));
      take_from(stalled_ns, launchers.of(thread).other_work().within_ns(from_ns, end_ns));
    }
    if (stalled_ns <= 0) return;
    seen.add(outermost_operator(data.trace, gap.wait), stream_of(data.trace, gap), begin_ns,
             begin_ns + stalled_ns);
    changes.no_wait(gap.wait);
  });
  if (seen.empty()) return;
  add_simulated(
      data, report,
      {.id = "stalling_synchronisation",
       .title = "The host waits for the device, then the device waits for the host",
       .detail = format_text("The host waited until the device had finished. The device then stood "
                             "idle until the host launched new work: {}.",
                             seen.lengths()),
       .advice = "Leave results on the device until the step is over: avoid .item(), .cpu(), and "
                 "printing or comparing device values in between. Copy with pinned memory and "
                 "non_blocking=True.",
       .command = "sonde whatif TRACE --no-sync"},
      seen, seen.total_ns(), changes);
}

std::string small_kernels(const ReportData& data) {
  std::uint64_t kernels = 0;
  std::uint64_t small = 0;
  for (const DeviceWork& device : data.work) {
    for (const Work& work : device.work) {
      if (data.trace.spans().kind[work.span] != SpanKind::Kernel) continue;
      if (!data.steady.has(work.begin_ns)) continue;
      ++kernels;
      small += work.end_ns - work.begin_ns < kSmallKernelNs ? 1 : 0;
    }
  }
  if (kernels == 0) return {};
  return format_text(" {} of {} kernels take less than {} µs.", count_text(small),
                     count_text(kernels), kSmallKernelNs / 1000);
}

// The work of other devices does not consist of kernels, and CUDA's remedies do not apply to it.
std::string larger_work_advice(const Report& report) {
  const auto has_name = [&](std::string_view part) {
    for (std::size_t i = 0; i < report.trace.strings().size(); ++i)
      if (report.trace.string(StringId(i)).starts_with(part)) return true;
    return false;
  };
  const bool runs_kernels =
      std::any_of(report.devices.begin(), report.devices.end(), [](const DeviceTime& device) {
        return device.compute.count + device.communication.count > 0;
      });
  // What the program does already is no advice.
  const bool is_compiled = has_name("Torch-Compiled Region") || has_name("CompiledFunction");
  const bool has_optimiser = has_name("Optimizer.step") || has_name("aten::_foreach_");
  const std::string_view optimiser = !has_optimiser || has_name("aten::_fused_") ? ""
                                     : has_name("aten::_foreach_")
                                         ? ", or a fused optimiser"
                                         : ", or a fused or foreach optimiser";
  const std::string first = format_text("use a larger batch{}{}.",
                                        is_compiled         ? ""
                                        : optimiser.empty() ? " or torch.compile"
                                                            : ", torch.compile",
                                        optimiser);
  if (!runs_kernels) return "Give the device less but larger work: " + first;
  return "Launch fewer, larger kernels: " + first +
         (is_compiled ? " Or launch many at once as a CUDA graph: the program is compiled, so "
                        "torch.compile(mode=\"reduce-overhead\") does that."
                      : " Or launch many at once as a CUDA graph.");
}

// As in a CUDA graph. Returns how long the delays were that this makes shorter.
Nanos follow_at_once(const ReportData& data, const Report& report, Changes& changes) {
  for (const DeviceWork& device : data.work)
    for (const Work& work : device.work)
      if (data.steady.has(work.begin_ns)) changes.follow(work.span, kDelayInGraphNs);
  Nanos delays_ns = 0;
  for_gaps(data.steady.covers, report, [&](const DeviceGap& gap, Nanos begin_ns, Nanos end_ns) {
    if (gap.cause == IdleCause::KernelWait) add_to(delays_ns, end_ns - begin_ns);
  });
  return delays_ns;
}

// Gaps in which the host ran operators that launch work, with the code between them. Those that
// began with a wait are stalls. If many launches become one, all of that time is gone, and so are
// the delays between launches and kernels.
void slow_launches(const ReportData& data, Report& report) {
  Evidence seen(data);
  Changes changes(data.program());
  Launchers launchers(data);
  for_gaps(data.steady.covers, report, [&](const DeviceGap& gap, Nanos begin_ns, Nanos end_ns) {
    const TrackId thread = launching_thread(data.trace, gap);
    if (gap.cause != IdleCause::HostWait || gap.wait.valid() || !thread.valid()) return;
    if (gap.host == HostDoing::Communicated) return;
    const HostWork& host = launchers.of(thread);
    Nanos inside_ns = 0;
    for_uncovered(host.other_work(), begin_ns, end_ns, [&](Nanos from_ns, Nanos to_ns) {
      changes.cut(thread, from_ns, to_ns);
      inside_ns += to_ns - from_ns;
    });
    if (inside_ns > 0)
      seen.add(host.launching_in(begin_ns, end_ns), stream_of(data.trace, gap), end_ns - inside_ns,
               end_ns);
  });
  if (seen.empty()) return;
  Nanos at_most_ns = follow_at_once(data, report, changes);
  add_to(at_most_ns, seen.total_ns());
  add_simulated(
      data, report,
      {.id = "launch_bound",
       .title = "The device waits for the next work to be launched",
       .detail = format_text("The device finished before the host, which was running operators, "
                             "had launched the next work: {}.{} The saving assumes that many "
                             "launches become one.",
                             seen.lengths(), small_kernels(data)),
       .advice = larger_work_advice(report),
       .command = "sonde table TRACE --sort-by self_cpu_time_total --columns launches,p50"},
      seen, at_most_ns, changes);
}

void delays(const ReportData& data, Report& report) {
  Evidence short_ones(data);
  Evidence unknown(data);
  Nanos saved_ns = 0;
  for_gaps(data.steady.covers, report, [&](const DeviceGap& gap, Nanos begin_ns, Nanos end_ns) {
    if (gap.cause == IdleCause::HostWait) return;
    Evidence& seen = gap.cause == IdleCause::KernelWait ? short_ones : unknown;
    seen.add(gap.after, stream_of(data.trace, gap), begin_ns, end_ns);
    if (gap.cause == IdleCause::KernelWait)
      add_to(saved_ns, std::max<Nanos>(end_ns - begin_ns - kDelayInGraphNs, 0));
  });
  if (saved_ns > 0)  // else a graph would have the same pauses
    add_known(report,
              {.id = "kernel_wait",
               .title = "Short pauses between launched work add up",
               .detail = format_text("Work that had been launched in time began a little after the "
                                     "previous work ended: {}. The saving assumes {} between two "
                                     "pieces of work, as in a CUDA graph.",
                                     short_ones.lengths(), duration_text(kDelayInGraphNs)),
               .advice = larger_work_advice(report),
               .command = "sonde table TRACE --sort-by count"},
              short_ones, short_ones.total_ns(), saved_ns);
  add_known(
      report,
      {.id = "device_idle_other",
       .title = "The device is idle for a reason that the trace does not show",
       .detail = format_text("The next work had been launched but did not begin, or its "
                             "launch was not recorded: {}.",
                             unknown.lengths()),
       .advice = "Look for streams that wait for events of other streams, and for other processes "
                 "on the same device.",
       .command = "sonde export TRACE -o trace.json.gz"},
      unknown, unknown.total_ns(), 0);
}

}  // namespace

void find_in_devices(const ReportData& data, Report& report) {
  if (report.devices.empty()) return;
  stalls(data, report);
  slow_launches(data, report);
  find_idle_hosts(data, report);
  delays(data, report);
}

}  // namespace sonde::detail
