// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/run_summary.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyse/compare/run_item_key.h"
#include "analyse/compare/statistics.h"
#include "analyse/compare/step_parts.h"
#include "analyse/events/module_path.h"
#include "analyse/operators/flops.h"
#include "analyse/operators/shapes.h"
#include "base/cpp_names.h"
#include "base/median.h"
#include "sonde/analyse/graphs.h"
#include "sonde/analyse/ledger.h"
#include "sonde/analyse/memory.h"
#include "sonde/analyse/patterns.h"
#include "sonde/analyse/steps.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

constexpr std::string_view kOutside = "(outside operators)";

// A step of one process, or the whole recording.
struct CountedStep {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  TrackId track;  // whose time it is; invalid: none
  std::int64_t peak_bytes = -1;
};

struct StepsOfProcess {
  ProcessId process;
  std::vector<CountedStep> steps;  // by time
  bool are_steps = true;
};

// All but the first, unless it is the only one.
void leave_out_the_first(std::vector<CountedStep>& steps) {
  if (steps.size() > 1) steps.erase(steps.begin());
}

// The thread that was busy for most of the recording.
TrackId busiest_thread(const Trace& trace, ProcessId process) {
  TrackId best;
  Nanos longest = -1;
  for (std::size_t i = 0; i < trace.tracks().size(); ++i) {
    if (trace.tracks().process[i] != process || trace.tracks().kind[i] != TrackKind::Thread)
      continue;
    Nanos covered = 0;
    for (const SpanId span : trace.track_spans(TrackId(i)))
      if (!trace.spans().parent[span].valid()) covered += trace.spans().duration_ns[span];
    if (covered > longest) {
      longest = covered;
      best = TrackId(i);
    }
  }
  return best;
}

// The most memory that a process held on one device, or on the host if it used no device; -1: not
// recorded.
std::int64_t peak_bytes_of(const MemoryProfile& memory, ProcessId process) {
  std::int64_t on_host = -1;
  std::int64_t on_device = -1;
  for (const DeviceMemory& device : memory.devices) {
    if (device.process != process) continue;
    std::int64_t& peak = device.device.type == DeviceType::Cpu ? on_host : on_device;
    peak = std::max(peak, device.peak.live_bytes);
  }
  return on_device >= 0 ? on_device : on_host;
}

std::vector<StepsOfProcess> steps_by_process(const Trace& trace) {
  std::vector<StepsOfProcess> all;
  for (const StepTime& step : step_times(trace).steps) {
    if (all.empty() || all.back().process != step.process) all.push_back({step.process, {}, true});
    all.back().steps.push_back(
        {step.begin_ns, step.end_ns, trace.spans().track[step.span], step.peak_bytes});
  }
  for (StepsOfProcess& of : all) leave_out_the_first(of.steps);
  if (!all.empty()) return all;
  const MemoryProfile memory = memory_profile(trace);
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    const ProcessId process(i);
    all.push_back({process,
                   {{trace.first_ns(), trace.last_ns(), busiest_thread(trace, process),
                     peak_bytes_of(memory, process)}},
                   false});
  }
  return all;
}

// What is counted for each step.
struct Counted {
  Nanos ns = 0;
  std::int64_t count = 0;
};

using ItemKey = detail::RunItemKey;

struct ItemSteps {
  std::vector<Counted> steps;
  SpanId longest;
};

class Summariser {
 public:
  Summariser(const Trace& trace, const StepsOfProcess& of, const RunGrouping& grouping)
      : trace_(trace), of_(of), grouping_(grouping), flops_(trace), exact_(of.steps.size()) {}

  RunSummary make(const std::vector<GraphBreak>& breaks) {
    add_host_times();
    add_spans();
    add_allocations();
    add_breaks(breaks);
    return finish();
  }

 private:
  using Exact = std::map<std::string, std::int64_t>;

  // The step at a time; steps_.size() if there is none.
  std::size_t step_at(Nanos time) const {
    const auto after = std::partition_point(of_.steps.begin(), of_.steps.end(),
                                            [&](const CountedStep& s) { return s.end_ns <= time; });
    const auto at = static_cast<std::size_t>(after - of_.steps.begin());
    if (after == of_.steps.end() || after->begin_ns > time) {
      const bool is_end_of_all = !of_.are_steps && time == of_.steps.back().end_ns;
      return is_end_of_all ? 0 : of_.steps.size();
    }
    return at;
  }

  ItemSteps& item(const ItemKey& key) {
    ItemSteps& found = items_[key];
    if (found.steps.empty()) found.steps.resize(of_.steps.size());
    return found;
  }

  void add_host_times() {
    const detail::StepParts parts(trace_, of_.process);
    for (std::size_t step = 0; step < of_.steps.size(); ++step) {
      const CountedStep& at = of_.steps[step];
      if (!at.track.valid()) continue;
      parts.for_each(at.track, at.begin_ns, at.end_ns, [&](const detail::Moment& moment) {
        ItemSteps& found = host_item(moment.span);
        found.steps[step].ns += moment.end_ns - moment.begin_ns;
        if (moment.span.valid() &&
            (!found.longest.valid() ||
             trace_.spans().duration_ns[moment.span] > trace_.spans().duration_ns[found.longest]))
          found.longest = moment.span;
      });
    }
  }

  // Moments in no operator, call or range of the program count as outside.
  ItemSteps& host_item(SpanId span) {
    const bool is_outside = !span.valid() || trace_.spans().kind[span] == SpanKind::Step ||
                            trace_.spans().kind[span] == SpanKind::PythonFunction;
    if (is_outside) span = SpanId();
    const StringId name = span.valid() ? trace_.spans().name[span] : StringId();
    ItemSteps*& known = host_items_[{name, arguments_of(span), module_of(span)}];
    if (known == nullptr)
      known = &item({.is_device = false,
                     .name = std::string(is_outside ? kOutside : trace_.string(name)),
                     .owner = "",
                     .shapes = shapes_of(span),
                     .module = detail::module_path(trace_, module_of(span))});
    return *known;
  }

  // What the items are grouped by; invalid: not by this.
  ArgumentListId arguments_of(SpanId span) const {
    return grouping_.by_shapes && span.valid() ? trace_.spans().arguments[span] : ArgumentListId();
  }
  ModuleId module_of(SpanId span) const {
    return grouping_.by_module && span.valid() ? trace_.spans().module[span] : ModuleId();
  }
  std::string shapes_of(SpanId span) const {
    const ArgumentListId list = arguments_of(span);
    return list.valid() ? detail::shapes_text(trace_, list) : "";
  }

  void add_spans() {
    const SpanTable& spans = trace_.spans();
    for (const SpanId span : trace_.all_spans()) {
      const SpanKind kind = spans.kind[span];
      const TrackId track = spans.track[span];
      if (!track.valid() || trace_.tracks().process[track] != of_.process) continue;
      const bool is_work = is_device_work(kind);
      const SpanId launch = is_work ? spans.launch[span] : SpanId();
      const std::size_t step = step_at(spans.start_ns[launch.valid() ? launch : span]);
      if (step == of_.steps.size()) continue;
      if (is_work) {
        add_device_work(span, launch, step);
      } else {
        add_host_span(span, kind, step);
      }
    }
    add_table_counts();
  }

  void add_device_work(SpanId span, SpanId launch, std::size_t step) {
    const Nanos duration = trace_.spans().duration_ns[span];
    const SpanId owner = owner_of(launch);
    ItemSteps& found =
        item({.is_device = true,
              .name = folded(trace_.spans().name[span]),
              .owner = owner.valid() ? std::string(trace_.name(owner)) : std::string(),
              .shapes = shapes_of(owner),
              .module = detail::module_path(trace_, module_of(owner))});
    found.steps[step].ns += duration;
    ++found.steps[step].count;
    if (launch.valid() && !found.longest.valid()) found.longest = launch;
    ++exact_[step][is_copy(trace_.spans().kind[span]) ? "copies" : "kernels"];
  }

  const std::string& folded(StringId name) {
    std::string& text = folded_[name];
    if (text.empty()) text = folded_cpp_name(trace_.string(name));
    return text;
  }

  // The innermost operator around a launch, or else the innermost range.
  SpanId owner_of(SpanId launch) const {
    for (SpanId at = launch; at.valid(); at = trace_.spans().parent[at])
      if (is_operator(trace_.spans().kind[at]) || is_user_range(trace_.spans().kind[at])) return at;
    return SpanId();
  }

  void add_host_span(SpanId span, SpanKind kind, std::size_t step) {
    if (is_operator(kind)) {
      ++exact_[step]["operators"];
      ++host_item(span).steps[step].count;
      const std::uint64_t flops = flops_(trace_, span);
      if (flops > 0) exact_[step]["flops"] += static_cast<std::int64_t>(flops);
    } else if (is_call(kind)) {
      ++host_item(span).steps[step].count;
      if (starts_work(trace_.name(span))) ++exact_[step]["launches"];
      if (waits_for_device(trace_.name(span))) ++exact_[step]["syncs"];
    }
  }

  std::size_t step_of(SpanId span) const {
    if (!span.valid()) return of_.steps.size();
    const TrackId track = trace_.spans().track[span];
    if (!track.valid() || trace_.tracks().process[track] != of_.process) return of_.steps.size();
    const SpanId launch = trace_.spans().launch[span];
    return step_at(trace_.spans().start_ns[launch.valid() ? launch : span]);
  }

  void add_table_counts() {
    const CopyTable& copies = trace_.copies();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const std::size_t step = step_of(copies.span[i]);
      if (step < of_.steps.size() && copies.bytes[i] > 0)
        exact_[step]["bytes_copied"] += copies.bytes[i];
    }
    const CollectiveTable& collectives = trace_.collectives();
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const std::size_t step = step_of(collectives.span[i]);
      if (step < of_.steps.size() && !is_on_device(trace_.spans().kind[collectives.span[i]]))
        ++exact_[step]["collectives"];
    }
  }

  void add_allocations() {
    const AllocationTable& allocations = trace_.allocations();
    for (std::size_t i = 0; i < allocations.size(); ++i) {
      const TrackId track = allocations.track[i];
      if (allocations.bytes[i] <= 0 || !track.valid() ||
          trace_.tracks().process[track] != of_.process)
        continue;
      const std::size_t step = step_at(allocations.time_ns[i]);
      if (step < of_.steps.size()) ++exact_[step]["allocations"];
    }
  }

  void add_breaks(const std::vector<GraphBreak>& breaks) {
    for (const GraphBreak& one : breaks) {
      for (const SpanId frame : one.frames) {
        const std::size_t step = step_of(frame);
        if (step < of_.steps.size()) ++exact_[step]["graph_breaks"];
      }
    }
  }

  RunSummary finish() {
    RunSummary run;
    run.grouping = grouping_;
    run.has_steps = of_.are_steps;
    run.steps = of_.steps.size();
    std::vector<double> host;
    std::vector<double> device(of_.steps.size());
    host.reserve(of_.steps.size());
    for (const CountedStep& step : of_.steps)
      host.push_back(static_cast<double>(step.end_ns - step.begin_ns));
    for (const auto& [key, found] : items_) run.items.push_back(finished(key, found, device));
    run.step_median_ns = median_of(host);
    run.step_mean_ns = mean(host);
    run.device_median_ns = median_of(device);
    run.device_mean_ns = mean(device);
    finish_exact(run);
    return run;
  }

  RunItem finished(const ItemKey& key, const ItemSteps& found, std::vector<double>& device) const {
    RunItem made;
    key.give_to(made);
    if (found.longest.valid()) made.place = source_location(trace_, found.longest);
    std::vector<double> times;
    std::vector<double> counts;
    for (std::size_t step = 0; step < found.steps.size(); ++step) {
      times.push_back(static_cast<double>(found.steps[step].ns));
      counts.push_back(static_cast<double>(found.steps[step].count));
      if (key.is_device) device[step] += times.back();
    }
    made.median_ns = median_of(times);
    made.mean_ns = mean(times);
    made.count = median_of(counts);
    return made;
  }

  void finish_exact(RunSummary& run) const {
    std::set<std::string> names;
    for (const Exact& step : exact_)
      for (const auto& [name, count] : step) names.insert(name);
    for (const std::string& name : names) {
      std::vector<double> counts;
      for (const Exact& step : exact_) {
        const auto found = step.find(name);
        counts.push_back(found == step.end() ? 0 : static_cast<double>(found->second));
      }
      run.exact[name] = std::llround(median_of(counts));
    }
    std::int64_t peak = -1;
    for (const CountedStep& step : of_.steps) peak = std::max(peak, step.peak_bytes);
    if (peak >= 0) run.exact["peak_memory"] = peak;
  }

  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
  }

  const Trace& trace_;
  const StepsOfProcess& of_;
  const RunGrouping grouping_;
  detail::FlopsOfCalls flops_;
  std::vector<Exact> exact_;
  std::map<ItemKey, ItemSteps> items_;
  std::map<std::tuple<StringId, ArgumentListId, ModuleId>, ItemSteps*> host_items_;
  std::unordered_map<StringId, std::string> folded_;
};

std::string program_of(const Trace& trace) {
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    for (const StringId text : {trace.processes().command[i], trace.processes().name[i]}) {
      const std::string_view words = trace.string(text);
      if (!words.empty()) return std::string(words.substr(0, 200));
    }
  }
  return "";
}

void describe_trace(const Trace& trace, RunSummary& run) {
  run.program = program_of(trace);
  for (std::size_t i = 0; i < trace.devices().size(); ++i) {
    std::string name(trace.string(trace.devices().name[i]));
    if (!name.empty() &&
        std::find(run.devices.begin(), run.devices.end(), name) == run.devices.end())
      run.devices.push_back(std::move(name));
  }
  run.started_ns = trace.first_ns();
  const LedgerTotals ledger = ledger_totals(trace);
  run.is_incomplete = has(ledger, LedgerClass::Lost) || has(ledger, LedgerClass::Incomplete);
}

}  // namespace

RunSummary run_summary(const Trace& trace, std::string name, const RunGrouping& grouping) {
  std::vector<RunSummary> ranks;
  const std::vector<GraphBreak> breaks = graph_coverage(trace).breaks;
  for (const StepsOfProcess& of : steps_by_process(trace)) {
    RunSummary made = Summariser(trace, of, grouping).make(breaks);
    if (!made.items.empty() || of.are_steps) ranks.push_back(std::move(made));
  }
  RunSummary run = joined_ranks(ranks);
  describe_trace(trace, run);
  run.name = std::move(name);
  return run;
}

RunSummary joined_ranks(const std::vector<RunSummary>& ranks) {
  if (ranks.empty()) return {};
  if (ranks.size() == 1) return ranks.front();
  RunSummary joined = ranks.front();
  joined.ranks = static_cast<int>(ranks.size());
  joined.exact.clear();
  joined.items.clear();
  const auto count = static_cast<double>(ranks.size());
  double RunSummary::* const times[] = {&RunSummary::step_median_ns, &RunSummary::step_mean_ns,
                                        &RunSummary::device_median_ns, &RunSummary::device_mean_ns};
  for (const auto time : times) {
    joined.*time = 0;
    for (const RunSummary& rank : ranks) joined.*time += rank.*time / count;
  }
  std::map<ItemKey, RunItem> items;
  for (const RunSummary& rank : ranks) {
    joined.started_ns = std::min(joined.started_ns, rank.started_ns);
    joined.steps = std::min(joined.steps, rank.steps);
    joined.has_steps &= rank.has_steps;
    joined.is_incomplete |= rank.is_incomplete;
    for (const auto& [name, value] : rank.exact) {
      std::int64_t& sum = joined.exact[name];
      sum = name == "peak_memory" ? std::max(sum, value) : sum + value;
    }
    for (const RunItem& item : rank.items) {
      RunItem& sum = items[ItemKey::of(item)];
      const RunItem before = sum;
      sum = item;
      sum.place = before.place.empty() ? item.place : before.place;
      sum.median_ns = before.median_ns + item.median_ns / count;
      sum.mean_ns = before.mean_ns + item.mean_ns / count;
      sum.count = before.count + item.count / count;
    }
  }
  for (auto& [key, item] : items) joined.items.push_back(std::move(item));
  return joined;
}

}  // namespace sonde
