// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/rank_summary.h"

#include <algorithm>
#include <map>

#include "analyse/job/process_groups.h"
#include "analyse/job/rank_view.h"
#include "base/sum.h"
#include "sonde/analyse/device_time.h"
#include "sonde/analyse/ledger.h"

namespace sonde {
namespace detail {
namespace {

// The process of a rank that does its work: the one that communicates most, or else has most spans.
std::vector<ProcessId> working_processes(const Trace& trace) {
  struct Use {
    std::size_t collectives = 0;
    std::size_t spans = 0;
    std::uint32_t process = 0;
  };
  const ProcessTable& processes = trace.processes();
  std::vector<Use> uses(processes.size());
  for (std::uint32_t i = 0; i < uses.size(); ++i) uses[i].process = i;
  const auto use_of = [&](SpanId span) -> Use* {
    const TrackId track = trace.spans().track[span];
    if (!track.valid() || !trace.tracks().process[track].valid()) return nullptr;
    return &uses[trace.tracks().process[track].index()];
  };
  for (const SpanId span : trace.all_spans())
    if (Use* const use = use_of(span)) ++use->spans;
  for (std::size_t i = 0; i < trace.collectives().size(); ++i)
    if (Use* const use = use_of(trace.collectives().span[i])) ++use->collectives;
  std::map<std::int32_t, Use> best;  // by rank
  for (const Use& use : uses) {
    if (use.spans == 0) continue;
    const auto [found, is_new] = best.try_emplace(processes.rank[use.process], use);
    const auto weight = [](const Use& u) { return std::pair(u.collectives, u.spans); };
    if (!is_new && weight(use) > weight(found->second)) found->second = use;
  }
  if (best.size() > 1) best.erase(-1);
  std::vector<ProcessId> working;
  working.reserve(best.size());
  for (const auto& [rank, use] : best) working.emplace_back(use.process);
  return working;
}

std::string_view metadata_of(const Trace& trace, ProcessId process, std::string_view key) {
  const MetadataTable& metadata = trace.metadata();
  std::string_view found;
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (trace.string(metadata.key[i]) != key) continue;
    if (found.empty() || metadata.process[i] == process) found = trace.string(metadata.value[i]);
  }
  return found;
}

void read_ledger(const Trace& trace, RankSummary& summary) {
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    if (ledger.kind[i] == LedgerKind::ClockErrorNs) {
      summary.clock_error_ns =
          std::max(summary.clock_error_ns,
                   static_cast<std::int64_t>(std::min<std::uint64_t>(ledger.count[i], INT64_MAX)));
    }
    const LedgerClass of = ledger_class(ledger.kind[i]);
    if (ledger.kind[i] == LedgerKind::Truncated) summary.is_truncated = true;
    if (of == LedgerClass::Lost) summary.lost += ledger.count[i];
  }
}

// Where numbers begin again, as with a second profiler, they go on from the last one instead.
void read_steps(const RankView& view, RankSummary& summary) {
  if (!view.main.valid()) return;
  std::int64_t added = 0;
  for (const SpanId span : view.trace.track_spans(view.main)) {
    if (view.trace.spans().kind[span] != SpanKind::Step) continue;
    const std::int64_t recorded = view.trace.spans().step[span];
    std::int64_t number = recorded;
    add_to(number, added);
    if (!summary.steps.empty() && recorded >= 0 && number <= summary.steps.back().number) {
      number = summary.steps.back().number;
      add_to(number, 1);
      added = number - recorded;
    }
    summary.steps.push_back({number, view.trace.spans().start_ns[span], view.trace.end_ns(span)});
  }
}

// The place of the step during which something was launched; steps.size() if there is none.
std::size_t step_at(const std::vector<RankStep>& steps, Nanos launch_ns) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), launch_ns,
                       [](Nanos time_ns, const RankStep& step) { return time_ns < step.begin_ns; });
  if (after == steps.begin() || launch_ns >= std::prev(after)->end_ns) return steps.size();
  return static_cast<std::size_t>(after - steps.begin()) - 1;
}

// A host that does not wait runs ahead of its device. A step lasts until the device has done what
// the step launched, and the next one begins no earlier.
//
//   host    |-step 1-|-step 2-|
//   device     ######1#####  ######2#####
//   steps   |------1-------|------2------|
void wait_for_devices(const RankView& view, std::vector<RankStep>& steps) {
  if (steps.empty()) return;
  std::vector<Nanos> done_ns(steps.size(), INT64_MIN);
  const SpanTable& spans = view.trace.spans();
  for (const std::vector<Work>* const all : {&view.kernels, &view.copies, &view.communication})
    for (const Work& work : *all) {
      const SpanId launch = spans.launch[work.span];
      if (!launch.valid()) continue;
      const std::size_t step = step_at(steps, spans.start_ns[launch]);
      if (step < steps.size()) done_ns[step] = std::max(done_ns[step], work.end_ns);
    }
  Nanos before_ns = INT64_MIN;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].begin_ns = std::max(steps[i].begin_ns, before_ns);
    steps[i].end_ns = std::max({steps[i].end_ns, steps[i].begin_ns, done_ns[i]});
    before_ns = steps[i].end_ns;
  }
}

void read_device_time(const std::vector<DeviceTime>& devices, ProcessId process,
                      RankDeviceTime& sum) {
  for (const DeviceTime& device : devices) {
    if (device.process != process) continue;
    add_to(sum.kernel_ns, device.extent_ns());
    add_to(sum.idle_ns, device.idle_ns);
    add_to(sum.compute_ns, device.compute.union_ns);
    add_to(sum.non_compute_ns, device.extent_ns() - device.idle_ns - device.compute.union_ns);
    add_to(sum.host_wait_ns, device.idle_of(IdleCause::HostWait));
    add_to(sum.kernel_wait_ns, device.idle_of(IdleCause::KernelWait));
    add_to(sum.other_idle_ns, device.idle_of(IdleCause::Other));
    add_to(sum.communication_ns, device.communication.union_ns);
    add_to(sum.overlapped_ns, device.communication_hidden_ns);
  }
}

RankSummary summarise(const Trace& trace, ProcessId process,
                      const std::vector<DeviceTime>& devices) {
  RankSummary summary;
  const ProcessTable& processes = trace.processes();
  summary.rank = processes.rank[process];
  summary.world_size = processes.world_size[process];
  summary.local_rank = processes.local_rank[process];
  summary.host = trace.string(processes.host[process]);
  summary.pid = processes.pid[process];
  summary.first_ns = trace.first_ns();
  summary.last_ns = trace.last_ns();
  summary.clock_error_ns = std::max<std::int64_t>(processes.clock_error_ns[process], 0);
  summary.groups = process_groups(metadata_of(trace, process, "distributedInfo"));
  summary.job = job_id(metadata_of(trace, process, "job"));
  read_ledger(trace, summary);
  const RankView view(trace, process);
  SummaryTexts texts(trace, summary.texts);
  read_steps(view, summary);
  find_collectives(view, texts, summary);
  wait_for_devices(view, summary.steps);
  find_activities(view, texts, summary);
  find_device_work(view, texts, summary);
  read_device_time(devices, process, summary.device);
  return summary;
}

}  // namespace
}  // namespace detail

std::vector<RankSummary> summarise_ranks(const Trace& trace) {
  std::vector<RankSummary> ranks;
  const std::vector<DeviceTime> devices = device_times(trace);
  for (const ProcessId process : detail::working_processes(trace))
    ranks.push_back(detail::summarise(trace, process, devices));
  return ranks;
}

std::string_view to_string(WorkType type) noexcept {
  constexpr std::string_view kNames[kWorkTypes] = {"computation", "communication", "memory"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(ActivityKind kind) noexcept {
  constexpr std::string_view kNames[kActivityKinds] = {"kernel", "copy", "operator", "collective",
                                                       "range",  "wait", "unmarked"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace sonde
