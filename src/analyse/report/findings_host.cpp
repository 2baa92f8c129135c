// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Outlier steps, waiting for data, threads that fight for cores, memory.

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyse/patterns/source_locations.h"
#include "analyse/report/findings.h"
#include "base/format.h"
#include "base/median.h"
#include "base/sum.h"
#include "base/text.h"
#include "sonde/analyse/patterns.h"

namespace sonde::detail {
namespace {

constexpr std::uint64_t kLeastLeakSteps = 3;
// More threads than that want to run, for each core.
constexpr double kMostPerCore = 1.1;
// … and the program itself ran this much of the time on each.
constexpr double kLeastOfCores = 0.5;
// Threads that wait although they want less of the cores than this do not wait for each other.
constexpr double kLeastOfBusyCores = 0.25;
// Of loading a batch: what it takes to receive it from a worker; assumed.
constexpr double kLeastReceiving = 0.25;
// If more of the steps are slow, slow ones are usual.
constexpr double kMostOutliers = 0.2;
constexpr std::size_t kMostLeaksNamed = 3;
// Of the cores, for workers.
constexpr double kLeastFreeCores = 0.01;
constexpr std::string_view kMayHaveWaited =
    " The machine was busy: such steps may only have waited for a core.";
// Threads wait for cores in stretches: this many times their share may fall on a few steps.
constexpr double kUnevenWaits = 4;
constexpr std::uint64_t kLeastSlowSteps = 3;

// PyTorch's mark of a loader that has workers: its time is spent waiting for them.
constexpr std::string_view kHasWorkers = "MultiProcessingDataLoaderIter";

// Without the first of each name, which starts the loader.
std::vector<SpanId> without_first(const ReportData& data, const std::vector<SpanId>& loading) {
  std::vector<SpanId> kept;
  std::unordered_set<std::uint32_t> seen;
  for (const SpanId span : loading) {
    const bool is_first = seen.insert(data.trace.spans().name[span].value()).second;
    const bool starts = is_first && loading.size() > 1;
    if (!starts && data.steady.has(data.trace.spans().start_ns[span])) kept.push_back(span);
  }
  return kept;
}

// The part of the cores that the program leaves free: workers can take no more. Those that it has
// are processes of their own, and at least one of them runs.
double free_share(const ProcessorTime& time, bool has_workers) {
  if (!time.is_known()) return 1;
  const auto cores = static_cast<double>(time.cores);
  if (time.waited_share() >= kLeastWaitedForCores && time.wanted() > kLeastOfBusyCores * cores)
    return 0;
  const double wanted = time.wanted() + (has_workers ? 1 : 0);
  return std::max(1 - wanted / cores, 0.0);
}

// How many workers to assume for a loader without any: one, or up to four on free cores.
int new_workers(const ProcessorTime& time) {
  constexpr double kMost = 4;
  if (!time.is_known()) return 1;
  return static_cast<int>(std::clamp(static_cast<double>(time.cores) - time.wanted(), 1.0, kMost));
}

// What workers would hide: they load while the rest computes. If there are some already, twice as
// many load in half the time.
double hidden_share(const Report& report, Nanos loading_ns, bool has_workers) {
  if (loading_ns <= 0) return 0;
  const auto whole = static_cast<double>(report.measured_ns);
  const auto loading = static_cast<double>(loading_ns);
  const double compute = std::max(whole - loading, 0.0);
  const double left = has_workers ? loading / 2
                                  : std::max({loading / new_workers(report.processor) - compute,
                                              kLeastReceiving * loading, 0.0});
  const double hidden = loading - left;
  return std::min(hidden, whole * free_share(report.processor, has_workers)) / loading;
}

constexpr std::string_view kAddWorkers =
    "Load and prepare the next batch while this one is computed: set num_workers of the DataLoader "
    "above 0 (DataLoaderOptions::workers in C++), or use a separate thread.";
constexpr std::string_view kMoreWorkers =
    "The loader has workers, and they are too slow: give it more of them, raise prefetch_factor, "
    "or "
    "make what they do cheaper (decoding, augmentation, pickling of large objects).";

constexpr std::string_view kCheaperLoading =
    "Make loading itself cheaper (decoding, augmentation, pickling of large objects), do part of "
    "it "
    "once and keep the result, or use a machine with more cores.";

void data_loading(const ReportData& data, Report& report, const std::vector<SpanId>& loading) {
  const Trace& trace = report.trace;
  Evidence seen(data);
  bool has_workers = false;
  for (const SpanId span : loading) {
    seen.add(span, trace.spans().track[span], trace.spans().start_ns[span], trace.end_ns(span));
    has_workers |= trace.name(span).find(kHasWorkers) != std::string_view::npos;
  }
  if (seen.empty()) return;
  Changes changes(data.program());
  const double hidden = hidden_share(report, seen.total_ns(), has_workers);
  for (const SpanId span : loading) changes.scale_call(span, std::max(1 - hidden, 1e-9));
  const auto workers = static_cast<std::uint64_t>(new_workers(report.processor));
  const std::string what = has_workers ? "twice as many workers" : counted_text(workers, "worker");
  Finding finding{.id = std::string(id(Pattern::SynchronizedDataLoader)),
                  .title = "Steps wait for their data",
                  .detail = format_text(
                      "A thread that also computes loaded data, or waited for it: {}, without the "
                      "first time.",
                      seen.lengths()),
                  .advice = std::string(has_workers ? kMoreWorkers : kAddWorkers),
                  .command = "sonde table TRACE --sort-by cpu_time_total"};
  if (free_share(report.processor, has_workers) < kLeastFreeCores) {
    finding.detail += " No core was free for more workers.";
    finding.advice = kCheaperLoading;
    return add_known(report, std::move(finding), seen, seen.total_ns(), 0);
  }
  finding.detail +=
      format_text(" The saving assumes {} on free cores{}.", what,
                  report.processor.is_known() ? ", as far as the program left any" : "");
  add_simulated(data, report, std::move(finding), seen, seen.total_ns(), changes);
}

// "aten::sum at train.py(12): <module>": the operator and the innermost frame of its stack that is
// no library's.
std::string call_site(const MemoryLeak& leak) {
  constexpr std::string_view kNext = " < ";
  std::string_view rest = leak.stack;
  std::string_view frame = rest.substr(0, rest.find(kNext));
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(kNext));
    if (!is_library_frame(one)) {
      frame = one;
      break;
    }
    rest.remove_prefix(std::min(one.size() + kNext.size(), rest.size()));
  }
  return frame.empty() ? leak.op : leak.op + " at " + std::string(frame);
}

// What most steps kept: a few blocks of the first steps may be caches.
void find_leaks(const ReportData& data, Report& report, const DeviceMemory& device) {
  std::vector<MemoryLeak> leaks = memory_leaks(data.memory, device);
  const std::size_t steps = memory_by_step(data.memory, device).size();
  const std::uint64_t least = std::max<std::uint64_t>(kLeastLeakSteps, steps / 2);
  std::erase_if(leaks, [&](const MemoryLeak& leak) { return leak.steps < least; });
  if (leaks.empty()) return;
  std::sort(leaks.begin(), leaks.end(),
            [](const MemoryLeak& a, const MemoryLeak& b) { return a.bytes > b.bytes; });
  std::int64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t most_steps = 0;
  std::string from;
  for (std::size_t i = 0; i < leaks.size(); ++i) {
    add_to(bytes, leaks[i].bytes);
    blocks += leaks[i].blocks;
    most_steps = std::max(most_steps, leaks[i].steps);
    if (i >= kMostLeaksNamed) continue;
    from +=
        format_text("{}{} from {}", i > 0 ? ", " : "",
                    bytes_text(static_cast<std::uint64_t>(leaks[i].bytes)), call_site(leaks[i]));
  }
  const std::string name = to_string(device.device);
  report.findings.push_back(
      {.id = "memory_grows_" + name,
       .title = "Memory grows from step to step on " + name,
       .detail = format_text(
           "{} in {}, allocated in {} of {}, were still held when the last step ended; about {} a "
           "step. {}{}.",
           bytes_text(static_cast<std::uint64_t>(bytes)), counted_text(blocks, "block"),
           count_text(most_steps), counted_text(steps, "step"),
           bytes_text(static_cast<std::uint64_t>(bytes) / most_steps),
           leaks.size() > kMostLeaksNamed ? "The most: " : "", from),
       .advice = "A loss or output that you keep holds its whole autograd graph. At the end of a "
                 "step, keep only its .detach() or .item().",
       .command = "sonde memory TRACE --device " + name,
       .count = blocks});
}

// How long the device is usually idle in a step; negative: there is none.
Nanos median_idle_ns(const StepTimes& times) {
  std::vector<Nanos> idle;
  for (const StepTime& step : times.steps)
    if (step.device_busy_ns >= 0) idle.push_back(step.device_idle_ns);
  if (idle.empty()) return -1;
  return median(idle);
}

// What a slow step takes more than the others. A host that waits until the device has done what it
// had launched before loses nothing, and waiting for data has a finding of its own.
Nanos excess_of(const StepTime& step, const StepTimes& times, Nanos usual_idle_ns,
                const Coverage& loading) {
  Nanos excess_ns = step.host_ns() - times.median_ns;
  if (usual_idle_ns >= 0 && step.device_busy_ns >= 0)
    excess_ns = std::min(excess_ns, step.device_idle_ns - usual_idle_ns);
  const bool loads = loading.within_ns(step.begin_ns, step.end_ns) > excess_ns / 2;
  return loads ? 0 : excess_ns;
}

}  // namespace

// Warm-up is none: it is not in the steady part. If the program or the machine has two speeds, many
// steps take somewhat longer than the median: then those that take twice as long.
std::vector<const StepTime*> slow_steps(const ReportData& data, const Report& report) {
  const StepTimes& times = report.steps;
  for (const bool is_twice : {false, true}) {
    std::vector<const StepTime*> slow;
    for (const StepTime& step : times.steps) {
      const bool is_slow = step.is_outlier && (!is_twice || step.host_ns() / 2 >= times.median_ns);
      if (is_slow && data.steady.has(step.begin_ns)) slow.push_back(&step);
    }
    if (static_cast<double>(slow.size()) <= kMostOutliers * static_cast<double>(times.steps.size()))
      return slow;
  }
  return {};
}

void find_in_steps(const ReportData& data, Report& report) {
  const StepTimes& times = report.steps;
  const Nanos usual_idle_ns = median_idle_ns(times);
  Stretches marks;
  for (const SpanId span : data.loading)
    marks.add(data.trace.spans().start_ns[span], data.trace.end_ns(span));
  const Coverage loading = marks.united();
  Evidence seen(data);
  Nanos excess_ns = 0;
  const StepTime* longest = nullptr;
  for (const StepTime* const each : slow_steps(data, report)) {
    const StepTime& step = *each;
    const TrackId track = step.span.valid() ? data.trace.spans().track[step.span] : TrackId();
    const Nanos more_ns = excess_of(step, times, usual_idle_ns, loading);
    if (more_ns <= 0) continue;
    seen.add(step.span, track, step.begin_ns, step.end_ns);
    add_to(excess_ns, more_ns);
    if (longest == nullptr || step.host_ns() > longest->host_ns()) longest = &step;
  }
  if (longest == nullptr) return;
  const auto waited_ns = static_cast<Nanos>(kUnevenWaits * report.processor.waited_share() *
                                            static_cast<double>(report.measured_ns));
  const bool was_busy = 2 * waited_ns >= excess_ns;
  // A killed program does not say how long its threads waited: a step or two may be chance.
  const bool may_be_chance =
      !report.processor.is_known() && !report.is_whole() && seen.count() < kLeastSlowSteps;
  add_known(
      report,
      {.id = "outlier_steps",
       .title = "Some steps take much longer than the others",
       .detail = format_text(
           "{} of {} steps. The median is {}. Step {} took {}: {}.{}", count_text(seen.count()),
           count_text(report.steady_steps), duration_text(times.median_ns), longest->step,
           duration_text(longest->host_ns()), longest->why, was_busy ? kMayHaveWaited : ""),
       .advice = "Look at what only these steps do: allocation, checkpoints, evaluation, "
                 "compilation, garbage collection.",
       .command = "sonde report TRACE --format json"},
      seen, excess_ns, may_be_chance ? 0 : std::max<Nanos>(excess_ns - waited_ns, 0));
}

void find_in_host(const ReportData& data, Report& report) {
  data_loading(data, report, without_first(data, data.loading));
  find_outside_operators(data, report);
}

bool threads_fight(const ProcessorTime& time) {
  if (!time.is_known()) return false;
  // With less, other programs had the cores, and any thread waits for them.
  const double ran_share = static_cast<double>(time.ran_ns) /
                           (static_cast<double>(time.wall_ns) * static_cast<double>(time.cores));
  return time.waited_share() >= kLeastWaitedForCores && ran_share >= kLeastOfCores &&
         time.wanted() > kMostPerCore * static_cast<double>(time.cores);
}

void find_in_scheduling(const ReportData& data, Report& report) {
  const ProcessorTime& time = report.processor;
  if (!threads_fight(time)) return;
  const std::string cores = counted_text(static_cast<std::uint64_t>(time.cores), "core");
  Evidence none(data);
  add_known(report,
            {.id = "threads_fight_for_cores",
             .title = "The program's threads fight for the cores",
             .detail = format_text(
                 "On average {:.1f} threads wanted to run at once, on {}. They ran for {} in total "
                 "and waited {} for a core. A parallel operator ends with its slowest thread, and "
                 "the others wait for it on a core.",
                 time.wanted(), cores, duration_text(time.ran_ns), duration_text(time.waited_ns)),
             .advice = format_text(
                 "Let no more threads compute at once than there are cores: threads of the program "
                 "times torch.set_num_threads() (OMP_NUM_THREADS) should be at most {}, data "
                 "workers included.",
                 time.cores),
             .command = "sonde info TRACE"},
            none, static_cast<Nanos>(time.waited_share() * static_cast<double>(report.measured_ns)),
            0);
}

void find_in_memory(const ReportData& data, Report& report) {
  for (const DeviceMemory* const device : data.memory_devices()) {
    find_leaks(data, report, *device);
  }
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
}

}  // namespace sonde::detail
