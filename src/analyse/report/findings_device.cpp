// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What keeps devices from working.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "analyse/report/findings.h"
#include "analyse/sum.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

// Launching a kernel takes the host about this long.
constexpr Nanos kSmallKernelNs = 10'000;

// The gaps of one kind, on all devices.
struct Gaps {
  std::uint64_t count = 0;
  Nanos total_ns = 0;
  Nanos longest_ns = 0;
  WorstSpans spans;
};

template <typename Wanted, typename Span>
Gaps gaps_of(const Report& report, Wanted wanted, Span span) {
  Gaps out;
  for (const DeviceTime& device : report.devices) {
    for (const DeviceGap& gap : device.gaps) {
      if (!wanted(gap)) continue;
      ++out.count;
      add_to(out.total_ns, gap.length_ns());
      out.longest_ns = std::max(out.longest_ns, gap.length_ns());
      out.spans.add(gap.length_ns(), span(gap));
    }
  }
  return out;
}

SpanId work_after(const DeviceGap& gap) {
  return gap.after;
}

auto host_wait(HostDoing doing) {
  return [doing](const DeviceGap& gap) {
    return gap.cause == IdleCause::HostWait && gap.host == doing;
  };
}
auto idle(IdleCause cause) {
  return [cause](const DeviceGap& gap) { return gap.cause == cause; };
}

// The outermost operator around a call, else the call.
SpanId caller_of(const Trace& trace, SpanId call) {
  SpanId found = call;
  for (SpanId at = call; at.valid(); at = trace.spans().parent[at])
    if (trace.spans().kind[at] == SpanKind::CpuOp) found = at;
  return found;
}

// "mostly in aten::item (cudaStreamSynchronize)"
std::string who_waited(const Report& report) {
  const Trace& trace = report.trace;
  std::map<std::pair<std::string_view, std::string_view>, Nanos> by_caller;
  for (const DeviceTime& device : report.devices) {
    for (const DeviceGap& gap : device.gaps) {
      if (!gap.wait.valid()) continue;
      const std::string_view caller = trace.name(caller_of(trace, gap.wait));
      add_to(by_caller[{caller, trace.name(gap.wait)}], gap.length_ns());
    }
  }
  const auto most =
      std::max_element(by_caller.begin(), by_caller.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == by_caller.end()) return {};
  const auto& [caller, call] = most->first;
  return caller == call ? format_text(", most of it after {}", call)
                        : format_text(", most of it after {} in {}", call, caller);
}

void add(Report& report, Gaps gaps, Finding finding) {
  if (!is_worth_saying(report, gaps.total_ns)) return;
  finding.saving_ns = gaps.total_ns;
  finding.count = gaps.count;
  finding.spans = gaps.spans.take();
  report.findings.push_back(std::move(finding));
}

std::string lengths(const Gaps& gaps) {
  if (gaps.count == 1) return "once, for " + duration_text(gaps.total_ns);
  return format_text("{}, {} in total, {} at most", times_text(gaps.count),
                     duration_text(gaps.total_ns), duration_text(gaps.longest_ns));
}

void stalls(Report& report) {
  Gaps gaps = gaps_of(report, host_wait(HostDoing::HadWaited),
                      [](const DeviceGap& gap) { return gap.wait; });
  add(report, gaps,
      {.id = "stalling_synchronisation",
       .title = "The host waits for the device, then the device waits for the host",
       .detail = format_text("The host waited until the device had finished. The device then stood "
                             "idle until the host launched new work: {}{}.",
                             lengths(gaps), who_waited(report)),
       .advice = "Leave results on the device until the step is over: avoid .item(), .cpu(), and "
                 "printing or comparing device values in between. Copy with pinned memory and "
                 "non_blocking=True.",
       .command = "sonde table TRACE --sort-by cpu_time_total"});
}

std::string small_kernels(const Report& report) {
  std::uint64_t kernels = 0;
  std::uint64_t small = 0;
  const SpanTable& spans = report.trace.spans();
  for (const SpanId span : report.trace.all_spans()) {
    if (spans.kind[span] != SpanKind::Kernel) continue;
    ++kernels;
    small += spans.duration_ns[span] < kSmallKernelNs ? 1 : 0;
  }
  if (kernels == 0) return {};
  return format_text(" {} of {} kernels take less than {}.", count_text(small), count_text(kernels),
                     duration_text(kSmallKernelNs));
}

// The work of other devices does not consist of kernels, and CUDA's remedies do not apply to it.
std::string_view larger_work_advice(const Report& report) {
  const bool runs_kernels =
      std::any_of(report.devices.begin(), report.devices.end(), [](const DeviceTime& device) {
        return device.compute.count + device.communication.count > 0;
      });
  return runs_kernels
             ? "Launch fewer, larger kernels: use a larger batch, torch.compile, or fused or "
               "foreach optimisers. Or launch many at once as a CUDA graph."
             : "Give the device less but larger work: use a larger batch, torch.compile, or fused "
               "or foreach optimisers.";
}

void slow_launches(Report& report) {
  Gaps gaps = gaps_of(report, host_wait(HostDoing::InOperators), work_after);
  if (gaps.count == 0) return;
  add(report, gaps,
      {.id = "launch_bound",
       .title = "The device waits for the next work to be launched",
       .detail = format_text("The device finished before the host, which was running operators, "
                             "had launched the next work: {}.{}",
                             lengths(gaps), small_kernels(report)),
       .advice = std::string(larger_work_advice(report)),
       .command = "sonde table TRACE --sort-by self_cpu_time_total --columns launches,p50"});
}

void slow_program(Report& report) {
  Gaps gaps = gaps_of(report, host_wait(HostDoing::OutsideOperators), work_after);
  add(report, gaps,
      {.id = "host_bound",
       .title = "The device waits while the host runs code outside operators",
       .detail = format_text("The thread that launches the work was running other code: {}.",
                             lengths(gaps)),
       .advice =
           "Look at what runs between operators: loading and preparing data, Python code, logging, "
           "file access. Do it in another thread or process, ahead of time, or less often.",
       .command = "sonde export TRACE -o trace.json.gz"});
}

void delays(Report& report) {
  Gaps gaps = gaps_of(report, idle(IdleCause::KernelWait), work_after);
  add(report, gaps,
      {.id = "kernel_wait",
       .title = "Short pauses between launched work add up",
       .detail = format_text(
           "Work that had been launched in time began a little after the previous work ended: {}.",
           lengths(gaps)),
       .advice = std::string(larger_work_advice(report)),
       .command = "sonde table TRACE --sort-by count"});
  gaps = gaps_of(report, idle(IdleCause::Other), work_after);
  add(report, gaps,
      {.id = "device_idle_other",
       .title = "The device is idle for a reason that the trace does not show",
       .detail = format_text(
           "The next work had been launched but did not begin, or its launch was not recorded: {}.",
           lengths(gaps)),
       .advice = "Look for streams that wait for events of other streams, and for other processes "
                 "on the same device.",
       .command = "sonde export TRACE -o trace.json.gz"});
}

}  // namespace

void find_in_devices(const ReportData& /*data*/, Report& report) {
  if (report.devices.empty()) return;
  stalls(report);
  slow_launches(report);
  slow_program(report);
  delays(report);
}

}  // namespace sonde::detail
