// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/report.h"

#include <algorithm>

#include "analyse/memory/places.h"
#include "analyse/report/findings.h"
#include "analyse/report/loading.h"
#include "analyse/report/profiler_cost.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

constexpr double kLeastShare = 0.01;
// However much a profiler cost, this much of the host's time was the program's.
constexpr double kLeastHostLeft = 0.2;
// What costs less does not change a finding.
constexpr double kLeastProfilerShare = 0.02;
// A device that is idle for less than a tenth of the time limits the program; one that is busy for
// most of it does not just wait.
constexpr double kBusyShare = 0.9;
constexpr double kMostlyBusyShare = 0.6;

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

// Of the time that findings are about.
struct DeviceShare {
  Nanos whole_ns = 0;
  Nanos busy_ns = 0;
  Nanos host_wait_ns = 0;
  Nanos idle_ns() const { return whole_ns - busy_ns; }
};

DeviceShare share_of(const detail::ReportData& data, const DeviceTime& device) {
  DeviceShare share;
  if (data.steady.rule == StepRule::None)
    return {device.extent_ns(), device.busy_ns, device.idle_of(IdleCause::HostWait)};
  const detail::Coverage& steady = data.steady.covers;
  for (const detail::Coverage::Stretch& one : steady.stretches())
    share.whole_ns += one.end_ns - one.begin_ns;
  detail::Coverage busy;
  for (const detail::DeviceWork& work : data.work) {
    if (work.process != device.process || work.device != device.device) continue;
    for (const detail::Work& one : work.work) busy.add(one.begin_ns, one.end_ns);
  }
  share.busy_ns = overlap_ns(busy, steady);
  for (const DeviceGap& gap : device.gaps)
    if (gap.cause == IdleCause::HostWait)
      share.host_wait_ns += steady.within_ns(gap.begin_ns, gap.end_ns);
  return share;
}

std::string verdict_of(const DeviceTime& device, const DeviceShare& share) {
  const std::string busy =
      format_text("it was busy {} of {}.", detail::share_text(share.busy_ns, share.whole_ns),
                  duration_text(share.whole_ns));
  if (static_cast<double>(share.busy_ns) >= kBusyShare * static_cast<double>(share.whole_ns)) {
    const Nanos alone_ns = device.communication.union_ns - device.communication_hidden_ns;
    return format_text("Device {} {}: {}", device.device,
                       alone_ns >= device.busy_ns / 2
                           ? "communicates most of the time, or waits for other ranks"
                           : "limits the program",
                       busy);
  }
  const bool waits = share.host_wait_ns >= share.idle_ns() - share.host_wait_ns;
  if (static_cast<double>(share.busy_ns) >= kMostlyBusyShare * static_cast<double>(share.whole_ns))
    return format_text("Device {} has work for most of the time: {}{}", device.device, busy,
                       waits ? " Then it waits for the host." : "");
  if (waits) return format_text("Device {} waits for the host: {}", device.device, busy);
  return format_text("Device {} has gaps of its own: {}", device.device, busy);
}

// " On average 7.6 threads wanted to run, on 2 cores.": its own threads hold each other up.
std::string fight_text(const ProcessorTime& time) {
  if (!detail::threads_fight(time)) return {};
  return format_text(" On average {:.1f} threads wanted to run at once, on {}.", time.wanted(),
                     counted_text(static_cast<std::uint64_t>(time.cores), "core"));
}

// As long as it would be without the profiler, which made the host slower.
DeviceShare without_profiler(DeviceShare share, const Report& report) {
  const auto scaled_ns = [&](Nanos time_ns) {
    return static_cast<Nanos>(
        std::min(report.without_profiler * static_cast<double>(time_ns), 9e18));
  };
  const Nanos idle_ns = share.idle_ns();
  share.whole_ns = std::max(scaled_ns(share.whole_ns), share.busy_ns);
  if (idle_ns > 0)
    share.host_wait_ns =
        static_cast<Nanos>(static_cast<double>(share.host_wait_ns) / static_cast<double>(idle_ns) *
                           static_cast<double>(share.idle_ns()));
  return share;
}

// " Operators ran for 61.2 % of that; the rest is code between them."
std::string operators_text(const detail::ReportData& data) {
  const TrackId main = data.program().main_thread();
  if (data.steady.rule == StepRule::None || !main.valid()) return {};
  const detail::Coverage& operators = data.all_operators(data.trace.tracks().process[main]);
  if (operators.empty()) return {};
  const Nanos operators_ns = overlap_ns(operators, data.steady.covers);
  const Nanos whole_ns = data.steady.covers.total_ns();
  const std::string_view what = data.steady.rule == StepRule::Repeated ? "iterations" : "steps";
  constexpr double kAll = 0.995;
  if (static_cast<double>(operators_ns) >= kAll * static_cast<double>(whole_ns))
    return format_text(" Operators ran all through these {}.", what);
  return format_text(" Operators ran for {} of these {}; the rest is code between them.",
                     detail::share_text(operators_ns, whole_ns), what);
}

std::string verdict_of(const detail::ReportData& data, const Report& report) {
  if (report.devices.empty()) {
    if (report.trace.spans().empty()) return "Nothing was recorded.";
    const std::string where = report.is_whole()
                                  ? "All work ran on the host; no device was used."
                                  : "Everything in this incomplete trace ran on the host.";
    return where + operators_text(data) + fight_text(report.processor);
  }
  const auto longest = std::max_element(
      report.devices.begin(), report.devices.end(),
      [](const DeviceTime& a, const DeviceTime& b) { return a.busy_ns < b.busy_ns; });
  return verdict_of(*longest, without_profiler(share_of(data, *longest), report));
}

// What took so long until the first step.
std::string start_reason(const detail::ReportData& data) {
  const detail::SteadyPart& steady = data.steady;
  const Nanos time_ns =
      steady.start_span.valid() ? data.trace.spans().duration_ns[steady.start_span] : 0;
  if (time_ns > 0 && time_ns >= steady.start_ns / 2)
    return format_text("{}, {}", data.trace.name(steady.start_span), duration_text(time_ns));
  const TrackId main = data.program().main_thread();
  if (!main.valid() || steady.covers.empty() || steady.start_ns <= 0) return {};
  Nanos end_ns = steady.covers.stretches().front().begin_ns;
  detail::take_from(end_ns, steady.warm_up_ns);
  Nanos begin_ns = end_ns;
  detail::take_from(begin_ns, steady.start_ns);
  const Nanos outside_ns =
      steady.start_ns -
      data.all_operators(data.trace.tracks().process[main]).within_ns(begin_ns, end_ns);
  if (outside_ns < steady.start_ns / 2) return {};
  // What is shorter was recorded in the middle of a program.
  constexpr Nanos kLeastWithImports = 100'000'000;
  return format_text(
      "code outside operators, {}{}", duration_text(outside_ns),
      outside_ns >= kLeastWithImports ? " (imports, loading libraries and data, …)" : "");
}

// The host may be done with its steps long before the device.
void add_pending_work(const detail::ReportData& data, detail::SteadyPart& steady) {
  if (steady.rule == StepRule::None || steady.covers.empty()) return;
  const Nanos last_ns = steady.covers.stretches().back().end_ns;
  Nanos end_ns = last_ns;
  for (const detail::DeviceWork& device : data.work) {
    for (const detail::Work& work : device.work) {
      const SpanId launch = data.trace.spans().launch[work.span];
      if (launch.valid() && steady.has(data.trace.spans().start_ns[launch]))
        end_ns = std::max(end_ns, work.end_ns);
    }
  }
  if (end_ns > last_ns) steady.covers.add(last_ns, end_ns);
}

// "Adam.step, 80 times": what is an iteration of a program with several optimisers is not known.
std::string other_optimisers(const Trace& trace, std::string_view steps_from) {
  std::vector<std::uint64_t> calls(trace.strings().size());
  std::vector<bool> wanted(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string_view name = trace.string(StringId(i));
    wanted[i] = name.starts_with(kOptimizerPrefix) && name != steps_from;
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return {};
  for (const SpanId span : trace.all_spans()) {
    const StringId name = trace.spans().name[span];
    if (name.valid() && wanted[name.index()] && is_user_range(trace.spans().kind[span]))
      ++calls[name.index()];
  }
  std::string text;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i] > 0)
      text += format_text("{}{}, {}", text.empty() ? "" : "; ",
                          trace.string(StringId(i)).substr(kOptimizerPrefix.size()),
                          detail::times_text(calls[i]));
  return text;
}

void find_steady_part(detail::ReportData& data, Report& report) {
  data.steady = detail::steady_part(data.trace, report.steps, data.program().main_thread());
  add_pending_work(data, data.steady);
  const detail::SteadyPart& steady = data.steady;
  report.step_rule = steady.rule;
  report.steps_inferred_from = steady.inferred_from;
  if (steady.rule == StepRule::Inferred)
    report.other_optimisers = other_optimisers(data.trace, steady.inferred_from);
  report.steady_steps = steady.steps;
  report.warm_up_steps = steady.warm_up_steps;
  report.warm_up_ns = steady.warm_up_ns;
  // A ring has forgotten how the program began.
  const bool is_dump = !report.end.dumped_because.empty();
  report.start_ns = is_dump ? 0 : steady.start_ns;
  report.start_reason = is_dump ? std::string() : start_reason(data);
  report.measured_ns =
      steady.rule == StepRule::None ? spans_ns(data.trace) : steady.covers.total_ns();
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

// One cause may be found in two ways: the larger saving is kept.
void rank(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.saving_ns != b.saving_ns ? a.saving_ns > b.saving_ns : a.at_most_ns > b.at_most_ns;
  });
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const bool is_there = std::any_of(kept.begin(), kept.end(),
                                      [&](const Finding& other) { return other.id == finding.id; });
    if (!is_there) kept.push_back(std::move(finding));
  }
  findings = std::move(kept);
}

// Findings are judged on what the program takes without its profiler, as far as that is known.
void correct_for_profiler(detail::ReportData& data, Report& report) {
  detail::ProfilerCost cost = detail::profiler_cost(data.trace, data.steady);
  cost.time_ns =
      std::min(cost.time_ns,
               static_cast<Nanos>((1 - kLeastHostLeft) * static_cast<double>(report.measured_ns)));
  const Nanos own_ns = detail::own_cost_ns(data.trace, data.steady);
  const double share = static_cast<double>(std::max(cost.time_ns, own_ns)) /
                       static_cast<double>(std::max<Nanos>(report.measured_ns, 1));
  if (share < kLeastProfilerShare) return;
  report.profiler_ns = cost.time_ns;
  report.profiler_options = cost.options;
  report.corrected_ns = own_ns;
  const auto& steady = data.steady.covers.stretches();
  if (steady.empty()) return;
  data.correct_host(std::max(1 - share, kLeastHostLeft), steady.front().begin_ns,
                    steady.back().end_ns);
  const Nanos less_ns = data.program().recorded_ns() - data.unchanged_ns();
  const Nanos recorded_ns = std::max<Nanos>(report.measured_ns, 1);
  report.measured_ns = std::max<Nanos>(recorded_ns - less_ns, 1);
  // A device was not faster without it.
  for (const DeviceTime& device : report.devices)
    report.measured_ns =
        std::min(std::max(report.measured_ns, share_of(data, device).busy_ns), recorded_ns);
  report.without_profiler =
      static_cast<double>(report.measured_ns) / static_cast<double>(recorded_ns);
}

// The steady part without the steps that a finding promises to shorten.
detail::Coverage usual_part(const detail::ReportData& data, const Report& report) {
  const bool tells_outliers =
      std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
        return finding.id == "outlier_steps" && finding.saving_ns > 0;
      });
  if (!tells_outliers) return data.steady.covers;
  detail::Stretches outliers;
  for (const StepTime* const step : detail::slow_steps(data, report))
    outliers.add(step->begin_ns, step->end_ns);
  const detail::Coverage told = outliers.united();
  detail::Coverage usual;
  for (const detail::Coverage::Stretch& one : data.steady.covers.stretches())
    detail::for_uncovered(told, one.begin_ns, one.end_ns,
                          [&](Nanos begin_ns, Nanos end_ns) { usual.add(begin_ns, end_ns); });
  return usual;
}

// What was found has been looked for, and is not minor.
void drop_told(Report& report) {
  const auto is_told = [&](const std::string& title) {
    return std::any_of(report.findings.begin(), report.findings.end(),
                       [&](const Finding& finding) { return finding.title == title; });
  };
  std::vector<std::string>& minor = report.minor;
  std::sort(minor.begin(), minor.end());
  minor.erase(std::unique(minor.begin(), minor.end()), minor.end());
  minor.erase(std::remove_if(minor.begin(), minor.end(), is_told), minor.end());
}

}  // namespace

namespace detail {

bool is_worth_saying(const Report& report, Nanos saving_ns) {
  return saving_ns > 0 &&
         static_cast<double>(saving_ns) >= kLeastShare * static_cast<double>(report.measured_ns);
}

void add_known(Report& report, Finding finding, Evidence& seen, Nanos at_most_ns, Nanos saving_ns) {
  // A profiler makes the host slower, and device work no longer.
  const double host = 1 - seen.device_share();
  const double share = 1 - host * (1 - report.without_profiler);
  const auto bound_ns = static_cast<Nanos>(std::min(share * static_cast<double>(at_most_ns), 9e18));
  if (!is_worth_saying(report, bound_ns)) return;
  finding.at_most_ns = std::min(bound_ns, report.measured_ns);
  finding.saving_ns = std::clamp<Nanos>(saving_ns, 0, finding.at_most_ns);
  if (saving_ns > 0 && !is_worth_saying(report, finding.saving_ns)) {
    report.minor.push_back(finding.title);
    return;
  }
  seen.fill(finding);
  report.findings.push_back(std::move(finding));
}

void add_simulated(const ReportData& data, Report& report, Finding finding, Evidence& seen,
                   Nanos at_most_ns, const Changes& changes) {
  if (!is_worth_saying(report, at_most_ns)) return;
  const Nanos saving_ns = data.unchanged_ns() - data.program().length_ns(changes);
  add_known(report, std::move(finding), seen, at_most_ns, std::max<Nanos>(saving_ns, 1));
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

bool Report::is_whole() const {
  return std::none_of(ledger.begin(), ledger.end(), [](const auto& entry) {
    const LedgerClass of = ledger_class(entry.first);
    return entry.second.count > 0 && entry.first != LedgerKind::Unfinished &&
           (of == LedgerClass::Lost || of == LedgerClass::Incomplete);
  });
}

Report report(const Trace& trace) {
  Report out;
  out.trace = trace;
  out.ledger = ledger_totals(trace);
  out.recording_ns = recording_cost(trace).total_ns;
  out.end = program_end_with_last(trace);
  out.processor = processor_time(trace);
  detail::ReportData data(trace);
  out.steps = detail::step_times(data);
  out.devices = detail::device_times(data);
  out.copies = copy_times(data.trace);
  out.host = host_time(trace);
  out.device_work = device_work_by_name(trace);
  if (!out.device_work.empty()) out.kernel_limits = kernel_limits(trace);
  out.memory = memory_peaks(data);
  find_steady_part(data, out);
  correct_for_profiler(data, out);
  for (const DeviceTime& device : out.devices) {
    const DeviceShare share = without_profiler(share_of(data, device), out);
    out.device_shares.push_back({share.whole_ns, share.busy_ns});
  }
  out.verdict = verdict_of(data, out);
  data.loading = detail::loading_spans(out);
  data.round_trips = detail::between_round_trips(data, out);
  detail::find_in_steps(data, out);
  data.usual = usual_part(data, out);
  detail::find_in_devices(data, out);
  detail::find_in_communication(data, out);
  detail::find_in_copies(data, out);
  detail::find_in_host(data, out);
  detail::find_in_products(data, out);
  detail::find_in_scheduling(data, out);
  detail::find_in_operators(data, out);
  detail::find_in_kernels(data, out);
  detail::find_patterns(data, out);
  detail::find_in_memory(data, out);
  rank(out.findings);
  drop_told(out);
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
