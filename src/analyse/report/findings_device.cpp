// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What keeps devices from working.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "analyse/report/findings.h"
#include "analyse/report/waiting.h"
#include "analyse/sum.h"
#include "base/format.h"
#include "base/text.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Launching a kernel takes the host about this long.
constexpr Nanos kSmallKernelNs = 10'000;
// Between two operators Python takes a few microseconds; longer pauses are other code.
constexpr Nanos kOtherCodeNs = 50'000;
// From one kernel to the next within a CUDA graph.
constexpr Nanos kDelayInGraphNs = 1'000;

// Gaps in a part of the trace, as visit(gap, begin, end).
template <typename Visit>
void for_gaps(const Coverage& part, const Report& report, Visit visit) {
  for (const DeviceTime& device : report.devices) {
    for (const DeviceGap& gap : device.gaps) {
      const Nanos within_ns = part.within_ns(gap.begin_ns, gap.end_ns);
      if (within_ns > 0) visit(gap, gap.end_ns - within_ns, gap.end_ns);
    }
  }
}

// When the wait with which the gap began was over.
Nanos wait_end_ns(const Trace& trace, const DeviceGap& gap) {
  return gap.wait.valid() ? std::clamp(trace.end_ns(gap.wait), gap.begin_ns, gap.end_ns)
                          : gap.begin_ns;
}

TrackId launching_thread(const Trace& trace, const DeviceGap& gap) {
  const SpanId launch = trace.spans().launch[gap.after];
  return launch.valid() ? trace.spans().track[launch] : TrackId();
}

// When the work that ended the gap was launched.
Nanos launch_ns(const Trace& trace, const DeviceGap& gap, Nanos from_ns) {
  const SpanId launch = trace.spans().launch[gap.after];
  return std::clamp(trace.spans().start_ns[launch], from_ns, std::max(from_ns, gap.end_ns));
}

TrackId stream_of(const Trace& trace, const DeviceGap& gap) {
  return trace.spans().track[gap.after];
}

void stalls(const ReportData& data, Report& report) {
  Evidence seen(data);
  Changes changes(data.program());
  for_gaps(data.steady.covers, report, [&](const DeviceGap& gap, Nanos begin_ns, Nanos end_ns) {
    if (gap.cause != IdleCause::HostWait || !gap.wait.valid()) return;
    // A copy that waits has a finding of its own.
    if (gap.host == HostDoing::Communicated || copies_memory(data.trace.name(gap.wait))) return;
    seen.add(outermost_operator(data.trace, gap.wait), stream_of(data.trace, gap), begin_ns,
             end_ns);
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

// Gaps in which the host ran operators, with the code between them. Those that began with a wait
// are stalls. If many launches become one, all of that time is gone, and so is the time from each
// launch to the begin of its work.
void slow_launches(const ReportData& data, Report& report) {
  Evidence seen(data);
  Changes changes(data.program());
  for_gaps(data.steady.covers, report, [&](const DeviceGap& gap, Nanos begin_ns, Nanos end_ns) {
    const TrackId thread = launching_thread(data.trace, gap);
    if (gap.cause != IdleCause::HostWait || gap.wait.valid() || !thread.valid()) return;
    if (gap.host == HostDoing::Communicated) return;
    Nanos inside_ns = 0;
    Nanos from_ns = begin_ns;
    const auto take_until = [&](Nanos to_ns) {
      changes.cut(thread, from_ns, to_ns);
      inside_ns += to_ns - from_ns;
    };
    const Coverage& operators = data.in_operators(thread);
    for_uncovered(operators, begin_ns, end_ns, [&](Nanos at_ns, Nanos to_ns) {
      if (to_ns - at_ns < kOtherCodeNs) return;
      take_until(at_ns);
      from_ns = to_ns;
    });
    take_until(end_ns);
    const SpanId launch = data.trace.spans().launch[gap.after];
    if (inside_ns > 0 && operators.within_ns(begin_ns, end_ns) > 0)
      seen.add(outermost_operator(data.trace, launch), stream_of(data.trace, gap),
               end_ns - inside_ns, end_ns);
  });
  if (seen.empty()) return;
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
      seen, seen.total_ns(), changes);
}

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
  TrackId launcher;
  for_program_gaps(data, report, [&](TrackId thread, Nanos from_ns, Nanos until_ns) {
    Nanos outside_ns = 0;
    std::pair<Nanos, Nanos> longest{0, 0};
    for_uncovered(data.in_operators(thread), from_ns, until_ns, [&](Nanos at_ns, Nanos to_ns) {
      if (to_ns - at_ns < kOtherCodeNs) return;
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
    for_uncovered(data.in_operators(thread), from_ns, until_ns, [&](Nanos at_ns, Nanos to_ns) {
      if (to_ns - at_ns >= kOtherCodeNs) changes.cut(thread, at_ns, to_ns, waiting.left());
    });
  });
  add_simulated(data, report, std::move(finding), seen, seen.total_ns(), changes);
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
  slow_program(data, report);
  delays(data, report);
}

}  // namespace sonde::detail
