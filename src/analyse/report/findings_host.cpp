// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Outlier steps, waiting for data, time outside operators, memory.

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/sum.h"
#include "base/format.h"
#include "base/text.h"
#include "sonde/analyse/patterns.h"

namespace sonde::detail {
namespace {

// Shorter gaps between operators are just the cost of calling them.
constexpr Nanos kShortestStretchNs = 100'000;
constexpr Nanos kLeastLeakSteps = 3;

constexpr std::array<std::string_view, 8> kLoading = {"dataloader", "data_loader", "data loading",
                                                      "load_data",  "load_batch",  "load batch",
                                                      "next_batch", "get_batch"};

bool loads_data(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kLoading.begin(), kLoading.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// Which spans are the program's marks for loading data.
class LoadingMarks {
 public:
  explicit LoadingMarks(const Trace& trace) : trace_(trace) {
    const StringPool& strings = trace.strings();
    by_name_.resize(strings.size());
    for (std::size_t i = 0; i < strings.size(); ++i) by_name_[i] = loads_data(strings[StringId(i)]);
  }
  // A mark inside another one does not count again.
  bool is(SpanId span) const {
    return is_mark(span) && !(trace_.spans().parent[span].valid() && is_within(span));
  }

 private:
  bool is_mark(SpanId span) const {
    const SpanKind kind = trace_.spans().kind[span];
    const StringId name = trace_.spans().name[span];
    return is_user_range(kind) && name.valid() && by_name_[name.index()];
  }
  bool is_within(SpanId span) const {
    for (SpanId at = trace_.spans().parent[span]; at.valid(); at = trace_.spans().parent[at])
      if (is_mark(at)) return true;
    return false;
  }

  const Trace& trace_;
  std::vector<bool> by_name_;
};

// Threads that run steps; without steps, threads that run operators. Their time counts.
std::vector<bool> working_threads(const Report& report) {
  const Trace& trace = report.trace;
  std::vector<bool> works(trace.tracks().size(), false);
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = trace.spans().kind[span];
    const bool wanted =
        report.steps.steps.empty() ? kind == SpanKind::CpuOp : kind == SpanKind::Step;
    const TrackId track = trace.spans().track[span];
    if (wanted && track.valid()) works[track.index()] = true;
  }
  return works;
}

// Marks of loading on those threads.
std::vector<SpanId> loading_spans(const Report& report) {
  const LoadingMarks marks(report.trace);
  const std::vector<bool> works = working_threads(report);
  std::vector<SpanId> spans;
  for (std::size_t row = 0; row < works.size(); ++row) {
    if (!works[row]) continue;
    for (const SpanId span : report.trace.track_spans(TrackId(row)))
      if (marks.is(span)) spans.push_back(span);
  }
  return spans;
}

void data_loading(Report& report, const std::vector<SpanId>& loading) {
  const Trace& trace = report.trace;
  Nanos total_ns = 0;
  WorstSpans spans;
  for (const SpanId span : loading) {
    add_to(total_ns, trace.spans().duration_ns[span]);
    spans.add(trace.spans().duration_ns[span], span);
  }
  if (!is_worth_saying(report, total_ns)) return;
  std::vector<SpanId> worst = spans.take();
  report.findings.push_back(
      {.id = std::string(id(Pattern::SynchronizedDataLoader)),
       .title = "Steps wait for their data",
       .detail = format_text("{} ran {} on a thread that also computes: {} in total.",
                             trace.name(worst.front()), times_text(loading.size()),
                             duration_text(total_ns)),
       .advice =
           "Load and prepare the next batch while this one is computed: set num_workers of the "
           "DataLoader above 0 (DataLoaderOptions::workers in C++), or use a separate thread.",
       .command = "sonde table TRACE --sort-by cpu_time_total",
       .saving_ns = total_ns,
       .count = loading.size(),
       .spans = std::move(worst)});
}

// Calls `found` for each long stretch of a step without any operator.
template <typename Found>
void stretches_without(const Coverage& busy, const StepTime& step, Found found) {
  const std::vector<Coverage::Stretch>& all = busy.stretches();
  auto next = std::upper_bound(
      all.begin(), all.end(), step.begin_ns,
      [](Nanos time, const Coverage::Stretch& stretch) { return time < stretch.begin_ns; });
  if (next != all.begin()) --next;
  Nanos at_ns = step.begin_ns;
  for (; at_ns < step.end_ns; ++next) {
    const bool is_last = next == all.end() || next->begin_ns >= step.end_ns;
    const Nanos until_ns = is_last ? step.end_ns : next->begin_ns;
    if (until_ns - at_ns >= kShortestStretchNs) found(until_ns - at_ns);
    if (is_last) return;
    at_ns = std::max(at_ns, next->end_ns);
  }
}

// When some thread of the process was in an operator, or loaded data, which data_loading() reports.
Coverage busy_of(const ReportData& data, ProcessId process, const std::vector<SpanId>& loading) {
  Stretches all = data.operators_of(process);
  for (const SpanId span : loading)
    all.add(data.trace.spans().start_ns[span], data.trace.end_ns(span));
  return all.united();
}

// Only for traces without devices. With a device, what matters is whether it waits.
void outside_operators(const ReportData& data, Report& report, const std::vector<SpanId>& loading) {
  if (!report.devices.empty() || report.steps.steps.empty()) return;
  std::unordered_map<std::uint32_t, Coverage> busy;  // by process
  Nanos total_ns = 0;
  std::uint64_t count = 0;
  WorstSpans spans;
  for (const StepTime& step : report.steps.steps) {
    const auto [of_process, is_new] = busy.try_emplace(step.process.value());
    if (is_new) of_process->second = busy_of(data, step.process, loading);
    if (of_process->second.empty()) continue;
    Nanos in_step_ns = 0;
    stretches_without(of_process->second, step, [&](Nanos length_ns) {
      add_to(in_step_ns, length_ns);
      ++count;
    });
    if (in_step_ns > 0) spans.add(in_step_ns, step.span);
    add_to(total_ns, in_step_ns);
  }
  if (!is_worth_saying(report, total_ns)) return;
  report.findings.push_back(
      {.id = "outside_operators",
       .title = "Steps spend time outside operators",
       .detail =
           format_text("{} of the time of all steps passed in stretches of {} or longer in which "
                       "no thread ran an operator: {}, {} in total.",
                       share_text(total_ns, report.measured_ns), duration_text(kShortestStretchNs),
                       times_text(count), duration_text(total_ns)),
       .advice = "Mark what the program does there (SONDE_SCOPE, record_function) and record "
                 "again. Loading data, file access, logging and the like can often run in parallel "
                 "with the steps.",
       .command = "sonde export TRACE -o trace.json.gz",
       .saving_ns = total_ns,
       .count = count,
       .spans = spans.take()});
}

}  // namespace

void find_in_steps(const ReportData& /*data*/, Report& report) {
  const StepTimes& times = report.steps;
  if (times.outliers == 0 || !is_worth_saying(report, times.outliers_excess_ns)) return;
  WorstSpans spans;
  const StepTime* longest = nullptr;
  for (const StepTime& step : times.steps) {
    if (!step.is_outlier) continue;
    spans.add(step.host_ns(), step.span);
    if (longest == nullptr || step.host_ns() > longest->host_ns()) longest = &step;
  }
  report.findings.push_back(
      {.id = "outlier_steps",
       .title = "Some steps take much longer than the others",
       .detail = format_text("{} of {} steps. The median is {}. Step {} took {}: {}.",
                             count_text(times.outliers), count_text(times.steps.size()),
                             duration_text(times.median_ns), longest->step,
                             duration_text(longest->host_ns()), longest->why),
       .advice = "If it is the first step, add a warm-up to the schedule. Otherwise look at what "
                 "only these steps do: allocation, checkpoints, evaluation, compilation.",
       .command = "sonde report TRACE --format json",
       .saving_ns = times.outliers_excess_ns,
       .count = times.outliers,
       .spans = spans.take()});
}

void find_in_host(const ReportData& data, Report& report) {
  const std::vector<SpanId> loading = loading_spans(report);
  data_loading(report, loading);
  outside_operators(data, report, loading);
}

void find_in_memory(const ReportData& data, Report& report) {
  for (const MemoryPeakOwner& peak : report.memory) {
    const std::string device = to_string(peak.device);
    report.findings.push_back(
        {.id = "memory_peak_" + device,
         .title = "Peak memory on " + device,
         .detail =
             format_text("{} at the peak, {} of it from {}.",
                         bytes_text(static_cast<std::uint64_t>(peak.bytes)),
                         bytes_text(static_cast<std::uint64_t>(peak.owner_bytes)), peak.owner),
         .advice = "If memory is short, look at what is held at the peak, and for how long.",
         .command = "sonde memory TRACE --device " + device});
  }
  for (const DeviceMemory* const device : data.memory_devices()) {
    const std::vector<MemoryLeak> leaks = memory_leaks(data.memory, *device);
    if (leaks.empty() || leaks.front().steps < kLeastLeakSteps) continue;
    const MemoryLeak& leak = leaks.front();
    const std::string name = to_string(device->device);
    report.findings.push_back(
        {.id = "memory_grows_" + name,
         .title = "Memory grows from step to step on " + name,
         .detail = format_text("{} in {} blocks from {}, allocated in {} steps, were still held "
                               "when the last step ended.",
                               bytes_text(static_cast<std::uint64_t>(leak.bytes)),
                               count_text(leak.blocks), leak.op, count_text(leak.steps)),
         .advice = "A loss or output that you keep holds its whole autograd graph. At the end of a "
                   "step, keep only its .detach() or .item().",
         .command = "sonde memory TRACE --device " + name,
         .count = leak.blocks});
  }
}

}  // namespace sonde::detail
