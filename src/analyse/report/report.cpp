// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/report.h"

#include <algorithm>
#include <functional>

#include "analyse/memory/places.h"
#include "analyse/report/findings.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kLeastShare = 0.01;
constexpr std::size_t kMostSpans = 8;
// A device that is idle for less than a tenth of the time limits the program.
constexpr double kBusyShare = 0.9;

// From the first span to the last, not counting spans of a whole recording.
Nanos spans_ns(const Trace& trace) {
  const SpanTable& spans = trace.spans();
  Nanos first_ns = trace.last_ns();
  Nanos last_ns = trace.first_ns();
  for (const SpanId span : trace.all_spans()) {
    if (spans.kind[span] == SpanKind::TraceSpan) continue;
    first_ns = std::min(first_ns, spans.start_ns[span]);
    last_ns = std::max(last_ns, trace.end_ns(span));
  }
  return std::max<Nanos>(last_ns - first_ns, 0);
}

std::string verdict_of(const DeviceTime& device) {
  const auto extent = static_cast<double>(device.extent_ns());
  const std::string busy =
      format_text("it was busy {} of {}.", detail::share_text(device.busy_ns, device.extent_ns()),
                  duration_text(device.extent_ns()));
  if (static_cast<double>(device.busy_ns) >= kBusyShare * extent)
    return format_text("Device {} limits the program: {}", device.device, busy);
  const Nanos host_ns = device.idle_of(IdleCause::HostWait);
  if (host_ns >= device.idle_ns - host_ns)
    return format_text("Device {} waits for the host: {}", device.device, busy);
  return format_text("Device {} has gaps of its own: {}", device.device, busy);
}

std::string verdict_of(const Report& report) {
  if (report.devices.empty()) {
    if (report.trace.spans().empty()) return "Nothing was recorded.";
    return report.is_whole() ? "All work ran on the host; no device was used."
                             : "Everything in this incomplete trace ran on the host.";
  }
  const auto longest = std::max_element(
      report.devices.begin(), report.devices.end(),
      [](const DeviceTime& a, const DeviceTime& b) { return a.busy_ns < b.busy_ns; });
  return verdict_of(*longest);
}

// Peaks of the devices; of the host only if no device has memory.
std::vector<MemoryPeakOwner> memory_peaks(const detail::ReportData& data) {
  std::vector<MemoryPeakOwner> out;
  for (const DeviceMemory* const device : data.memory_devices()) {
    const MemoryMoment peak = memory_moment(data.memory, *device, device->peak.event);
    if (peak.by_op.empty()) continue;
    // Prefers an operator to memory from before the recording, which no operator can reduce.
    const bool has_other = peak.by_op.size() > 1;
    const bool was_before = peak.by_op.front().name == detail::kNoOpButBefore;
    const MemoryShare& most = peak.by_op[was_before && has_other ? 1 : 0];
    out.push_back({device->device, peak.live_bytes, most.name, most.bytes});
  }
  return out;
}

// Two findings may have the same cause. The one with the larger bound is kept.
void rank(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.saving_ns > b.saving_ns; });
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const bool is_there = std::any_of(kept.begin(), kept.end(),
                                      [&](const Finding& other) { return other.id == finding.id; });
    if (!is_there) kept.push_back(std::move(finding));
  }
  findings = std::move(kept);
}

}  // namespace

namespace detail {

bool is_worth_saying(const Report& report, Nanos saving_ns) {
  return saving_ns > 0 &&
         static_cast<double>(saving_ns) >= kLeastShare * static_cast<double>(report.measured_ns);
}

std::vector<SpanId> WorstSpans::take() {
  const std::size_t count = std::min(all_.size(), kMostSpans);
  std::partial_sort(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(count), all_.end(),
                    std::greater<>());
  std::vector<SpanId> spans;
  spans.reserve(count);
  for (std::size_t i = 0; i < count; ++i) spans.emplace_back(all_[i].second);
  return spans;
}

std::string times_text(std::uint64_t count) {
  return count == 1 ? "once" : count_text(count) + " times";
}

std::string share_text(Nanos part_ns, Nanos whole_ns) {
  const double share =
      whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0.0;
  return format_text("{:.1f} %", 100 * share);
}

}  // namespace detail

Report report(const Trace& trace) {
  Report out;
  out.trace = trace;
  out.ledger = ledger_totals(trace);
  out.recording_ns = recording_ns(out.ledger);
  const detail::ReportData data(trace);
  out.steps = detail::step_times(data);
  out.devices = detail::device_times(data);
  out.copies = copy_times(data.trace);
  out.host = host_time(trace);
  out.device_work = device_work_by_name(trace);
  out.memory = memory_peaks(data);
  out.measured_ns = out.steps.total_ns > 0 ? out.steps.total_ns : spans_ns(trace);
  out.verdict = verdict_of(out);
  detail::find_in_devices(data, out);
  detail::find_in_communication(data, out);
  detail::find_in_copies(data, out);
  detail::find_in_steps(data, out);
  detail::find_in_host(data, out);
  detail::find_in_operators(data, out);
  detail::find_patterns(data, out);
  detail::find_in_memory(data, out);
  for (Finding& finding : out.findings)
    finding.saving_ns = std::min(finding.saving_ns, out.measured_ns);
  rank(out.findings);
  return out;
}

std::string command_text(const Finding& finding, std::string_view name) {
  std::string text = finding.command;
  const std::size_t at = text.find("TRACE");
  if (at == std::string::npos) return text;
  const bool is_plain =
      name.find_first_of(" \t\n'\"\\$`&|;<>()*?[]#~!{}") == std::string_view::npos;
  std::string quoted = is_plain ? std::string(name) : "'";
  if (!is_plain) {
    for (const char c : name) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    quoted += "'";
  }
  return text.replace(at, 5, quoted);
}

}  // namespace sonde
