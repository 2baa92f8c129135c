// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analyse/compare/gates.h"
#include "analyse/compare/run_item_key.h"
#include "analyse/compare/statistics.h"
#include "base/format.h"
#include "base/median.h"

namespace sonde {
namespace {

using Runs = std::vector<RunSummary>;

constexpr double kDiscoveryRate = 0.05;
constexpr double kFindingLevel = 0.025;  // one-sided
// Items below this share of the step are neither tested nor findings.
constexpr double kSmallestShare = 0.002;

template <typename Value>
std::vector<double> values_of(const Runs& runs, Value&& value) {
  std::vector<double> values;
  for (const RunSummary& run : runs) values.push_back(value(run));
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

TimeChange compare_times(const std::vector<double>& base, const std::vector<double>& now) {
  TimeChange change;
  change.base_ns = median_of(base);
  change.now_ns = median_of(now);
  change.change = change.base_ns > 0 ? change.now_ns / change.base_ns - 1 : 0;
  const std::size_t fewest = std::min(base.size(), now.size());
  if (fewest < detail::kFewestRuns || least(base) <= 0 || least(now) <= 0) return change;
  const detail::Shift shift = detail::shift_between(base, now);
  change.is_tested = true;
  change.change = shift.estimate;
  change.low = shift.interval.low;
  change.high = shift.interval.high;
  change.p = shift.p_welch;
  change.p_ranks = shift.p_ranks;
  change.detectable = detail::detectable_change(shift, kFindingLevel);
  return change;
}

// Whether a change counts: it has to be large enough to matter, and larger than what runs differ by
// anyway.
void judge(TimeChange& time, bool is_significant, bool is_device, const std::vector<double>& base,
           const std::vector<double>& now) {
  const detail::Shift shift = detail::shift_between(base, now);
  const auto fewest = static_cast<double>(std::min(base.size(), now.size()));
  const double floor = std::max(is_device ? detail::kDeviceFloor : detail::kHostFloor,
                                2 * shift.spread / std::sqrt(fewest));
  time.detectable = detail::detectable_change(shift, kFindingLevel, floor);
  const bool excludes_zero = time.low > 0 || time.high < 0;
  if (!is_significant || !excludes_zero) return;
  (std::abs(time.change) > floor ? time.is_finding : time.is_small) = true;
}

struct ItemValues {
  std::vector<double> base_median, now_median, base_mean, now_mean, base_count, now_count;
  RunItem item;
};

void add_side(const Runs& runs, bool is_now, std::map<detail::RunItemKey, ItemValues>& items,
              std::size_t base_runs, std::size_t now_runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const RunItem& item : runs[i].items) {
      ItemValues& values = items[detail::RunItemKey::of(item)];
      for (auto* const of_base : {&values.base_median, &values.base_mean, &values.base_count})
        of_base->resize(base_runs);
      for (auto* const of_now : {&values.now_median, &values.now_mean, &values.now_count})
        of_now->resize(now_runs);
      (is_now ? values.now_median : values.base_median)[i] = item.median_ns;
      (is_now ? values.now_mean : values.base_mean)[i] = item.mean_ns;
      (is_now ? values.now_count : values.base_count)[i] = item.count;
      values.item = item;
    }
  }
}

bool is_absent(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

ItemChange change_of(const ItemValues& values) {
  ItemChange change;
  change.item = values.item;
  change.base_mean_ns = mean_of(values.base_mean);
  change.now_mean_ns = mean_of(values.now_mean);
  change.base_count = median_of(values.base_count);
  change.now_count = median_of(values.now_count);
  change.time = compare_times(values.base_median, values.now_median);
  if (is_absent(values.base_mean) && is_absent(values.base_count)) change.status = ItemStatus::New;
  if (is_absent(values.now_mean) && is_absent(values.now_count)) change.status = ItemStatus::Gone;
  return change;
}

// Whether one may have come in place of the other: a kernel of one operator, or an operator with
// inputs of other sizes.
bool may_replace(const RunItem& added, const RunItem& gone) {
  const bool is_same_call = added.module == gone.module && added.owner == gone.owner;
  if (added.is_device) return is_same_call && !added.owner.empty();
  return is_same_call && added.name == gone.name && !added.shapes.empty();
}

// One that is gone and one that came in its place are one change.
void pair_replaced(std::vector<ItemChange>& items) {
  for (ItemChange& added : items) {
    if (added.status != ItemStatus::New) continue;
    ItemChange* best = nullptr;
    for (ItemChange& gone : items) {
      if (gone.status != ItemStatus::Gone || !may_replace(added.item, gone.item)) continue;
      const auto distance = [&](const ItemChange& item) {
        return std::abs(item.base_mean_ns - added.now_mean_ns);
      };
      if (best == nullptr || distance(gone) < distance(*best)) best = &gone;
    }
    if (best == nullptr) continue;
    added.status = ItemStatus::Replaced;
    added.replaces = best->item.name == added.item.name ? best->item.shapes : best->item.name;
    added.base_mean_ns = best->base_mean_ns;
    added.base_count = best->base_count;
    added.time.base_ns = best->time.base_ns;
    added.time.change =
        added.time.base_ns > 0 ? added.time.now_ns / added.time.base_ns - 1 : added.time.change;
    best->item.name.clear();  // to be removed
    best->status = ItemStatus::Both;
    best->base_mean_ns = best->now_mean_ns = 0;
  }
  std::erase_if(items, [](const ItemChange& item) { return item.item.name.empty(); });
}

void sort_by_delta(std::vector<ItemChange>& items) {
  std::stable_sort(items.begin(), items.end(), [](const ItemChange& a, const ItemChange& b) {
    return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
  });
}

class Comparer {
 public:
  Comparer(const Runs& base, const Runs& now) : base_(base), now_(now) {}

  Comparison make(const std::vector<Gate>& gates) {
    result_.base_runs = base_.size();
    result_.now_runs = now_.size();
    describe_steps();
    compare_exact();
    compare_totals();
    compare_items();
    warn();
    detail::judge_gates(base_, now_, gates, result_);
    return std::move(result_);
  }

 private:
  void describe_steps() {
    result_.steps = base_.front().steps;
    result_.has_steps = true;
    for (const Runs* const side : {&base_, &now_}) {
      for (const RunSummary& run : *side) {
        result_.steps = std::min(result_.steps, run.steps);
        result_.has_steps &= run.has_steps;
      }
    }
  }

  void compare_exact() {
    std::set<std::string> names;
    for (const Runs* const side : {&base_, &now_})
      for (const RunSummary& run : *side)
        for (const auto& [name, value] : run.exact) names.insert(name);
    for (const std::string& name : names) {
      if (needs_recording(base_, name) != needs_recording(now_, name)) {
        result_.one_sided.push_back(name);
        continue;
      }
      const auto [base_low, base_high] = range_of(base_, name);
      const auto [now_low, now_high] = range_of(now_, name);
      result_.exact.push_back({name, base_low, base_high, now_low, now_high});
    }
  }

  // Whether no run has the figure, because what it needs was not recorded.
  static bool needs_recording(const Runs& runs, const std::string& name) {
    const bool is_always_there =
        name == "operators" || name == "collectives" || name == "graph_breaks";
    if (is_always_there) return false;
    const bool is_of_device = name != "allocations" && name != "peak_memory" && name != "flops";
    return std::none_of(runs.begin(), runs.end(), [&](const RunSummary& run) {
      if (!is_of_device) return run.exact.contains(name);
      return run.exact.contains("kernels") || run.exact.contains("copies") ||
             run.exact.contains("launches");
    });
  }

  static std::pair<std::int64_t, std::int64_t> range_of(const Runs& runs, const std::string& name) {
    std::vector<std::int64_t> values;
    for (const RunSummary& run : runs) {
      const auto found = run.exact.find(name);
      values.push_back(found == run.exact.end() ? 0 : found->second);
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {*low, *high};
  }

  void compare_totals() {
    const auto both = [&](double RunSummary::* time) {
      const auto value = [time](const RunSummary& run) { return run.*time; };
      return std::pair(values_of(base_, value), values_of(now_, value));
    };
    const auto [step_base, step_now] = both(&RunSummary::step_median_ns);
    const auto [device_base, device_now] = both(&RunSummary::device_median_ns);
    result_.step = compare_times(step_base, step_now);
    result_.device = compare_times(device_base, device_now);
    result_.has_device = result_.device.base_ns > 0 || result_.device.now_ns > 0;
    if (result_.step.is_tested)
      judge(result_.step, result_.step.p < kDiscoveryRate, false, step_base, step_now);
    if (result_.device.is_tested)
      judge(result_.device, result_.device.p < kDiscoveryRate, true, device_base, device_now);
    const auto [step_mean_base, step_mean_now] = both(&RunSummary::step_mean_ns);
    const auto [device_mean_base, device_mean_now] = both(&RunSummary::device_mean_ns);
    result_.step_delta_ns = mean_of(step_mean_now) - mean_of(step_mean_base);
    result_.device_delta_ns = mean_of(device_mean_now) - mean_of(device_mean_base);
  }

  void compare_items() {
    std::map<detail::RunItemKey, ItemValues> items;
    add_side(base_, false, items, base_.size(), now_.size());
    add_side(now_, true, items, base_.size(), now_.size());
    std::vector<ItemChange> changes;
    std::vector<double> p;
    std::vector<std::size_t> tested;
    const double smallest = kSmallestShare * std::max(result_.step.base_ns, result_.device.base_ns);
    for (const auto& [name, values] : items) {
      changes.push_back(change_of(values));
      if (!changes.back().time.is_tested || changes.back().time.base_ns < smallest) continue;
      tested.push_back(changes.size() - 1);
      p.push_back(changes.back().time.p);
    }
    const std::vector<bool> found = detail::discoveries(p, kDiscoveryRate);
    for (std::size_t i = 0; i < tested.size(); ++i) {
      ItemChange& change = changes[tested[i]];
      const ItemValues& values = items[detail::RunItemKey::of(change.item)];
      judge(change.time, found[i], change.item.is_device, values.base_median, values.now_median);
    }
    for (ItemChange& change : changes)
      (change.item.is_device ? result_.device_work : result_.host).push_back(std::move(change));
    pair_replaced(result_.host);
    pair_replaced(result_.device_work);
    sort_by_delta(result_.host);
    sort_by_delta(result_.device_work);
  }

  void warn();
  void warn_of_different_programs();
  void warn_of_order();

  const Runs& base_;
  const Runs& now_;
  Comparison result_;
};

// The share of the base's host time in operators that the new side has too, by their names.
double common_share(const Runs& base, const Runs& now) {
  std::set<std::string> names;
  for (const RunSummary& run : now)
    for (const RunItem& item : run.items)
      if (!item.is_device) names.insert(item.name);
  double all = 0;
  double common = 0;
  for (const RunSummary& run : base) {
    for (const RunItem& item : run.items) {
      if (item.is_device || item.name.starts_with('(')) continue;
      all += item.mean_ns;
      if (names.contains(item.name)) common += item.mean_ns;
    }
  }
  return all > 0 ? common / all : 1;
}

void Comparer::warn_of_different_programs() {
  constexpr double kSameProgram = 0.5;
  const double share = common_share(base_, now_);
  if (share < kSameProgram)
    result_.warnings.push_back(
        format_text("These do not look like runs of the same program: only {:.0f} % of the base's "
                    "time is in operators that both sides have.",
                    100 * share));
  const RunSummary& a = base_.front();
  const RunSummary& b = now_.front();
  std::string same;
  const auto works_unnamed = [](const RunSummary& run) {
    return run.devices.empty() && std::any_of(run.items.begin(), run.items.end(),
                                              [](const RunItem& item) { return item.is_device; });
  };
  if (a.devices != b.devices && (works_unnamed(a) || works_unnamed(b))) {
    const RunSummary& named = a.devices.empty() ? b : a;
    result_.warnings.push_back("Only one side names its device, " + named.devices.front() +
                               "; the other may have run on another.");
  } else if (a.devices != b.devices) {
    const auto text = [](const RunSummary& run) {
      return run.devices.empty() ? std::string("no device") : run.devices.front();
    };
    result_.warnings.push_back("The sides ran on different devices: " + text(a) + " and " +
                               text(b) + ".");
  }
  for (const RunSummary& before : base_)
    for (const RunSummary& after : now_)
      if (before.name == after.name && before.started_ns == after.started_ns &&
          before.started_ns > 0 && same.empty())
        same = before.name;
  if (!same.empty()) result_.warnings.push_back("The same run is on both sides: " + same + ".");
  if (a.grouping != b.grouping)
    result_.warnings.emplace_back(
        "The sides group operators by different things, so their rows cannot be matched: record "
        "the baseline again with the same options.");
  if (a.ranks != b.ranks)
    result_.warnings.push_back(
        format_text("The sides have different numbers of ranks: {} and {}.", a.ranks, b.ranks));
}

void Comparer::warn_of_order() {
  if (base_.size() < 2 || now_.size() < 2) return;
  const auto start = [](const RunSummary& run) { return static_cast<double>(run.started_ns); };
  const std::vector<double> a = values_of(base_, start);
  const std::vector<double> b = values_of(now_, start);
  if (least(a) <= 0 || least(b) <= 0) return;
  const auto last = [](const std::vector<double>& v) {
    return *std::max_element(v.begin(), v.end());
  };
  if (last(a) < least(b) || last(b) < least(a))
    result_.warnings.push_back(
        "All runs of one side were recorded before those of the other, so a machine that grows "
        "slower or faster looks like a change. Record them in turns: base, new, new, base.");
}

void Comparer::warn() {
  warn_of_different_programs();
  const bool base_steps = base_.front().has_steps;
  if (base_steps != now_.front().has_steps) {
    result_.warnings.emplace_back("Only one side has steps, so the sides count different things.");
  } else if (!result_.has_steps) {
    result_.warnings.emplace_back(
        "The traces have no steps: whole recordings are compared. Mark steps with "
        "`Profiler::step`, or with ranges named ProfilerStep#1, ProfilerStep#2, …, to compare a "
        "step "
        "with a step.");
  } else if (result_.steps < 3) {
    result_.warnings.push_back(
        format_text("A run has only {} steady step{} (the first counts only if it is alone); "
                    "record more.",
                    result_.steps, result_.steps == 1 ? "" : "s"));
  }
  if (!result_.one_sided.empty()) {
    std::string names;
    for (const std::string& name : result_.one_sided) names += (names.empty() ? "" : ", ") + name;
    result_.warnings.push_back("Only one side recorded what these need: " + names +
                               ". Record both sides with the same options.");
  }
  const auto incomplete = [](const RunSummary& run) { return run.is_incomplete; };
  if (std::any_of(base_.begin(), base_.end(), incomplete) ||
      std::any_of(now_.begin(), now_.end(), incomplete))
    result_.warnings.emplace_back(
        "A trace is incomplete, so its counts may be too small; `sonde info` shows what is "
        "missing.");
  warn_of_order();
  if (std::min(base_.size(), now_.size()) < detail::kFewestRuns)
    result_.warnings.push_back(
        format_text("With fewer than {} runs of each version, host times are shown but not tested: "
                    "runs of an unchanged "
                    "program differ too.",
                    detail::kFewestRuns));
}

}  // namespace

Comparison compare_runs(const Runs& base, const Runs& now, const std::vector<Gate>& gates) {
  return Comparer(base, now).make(gates);
}

}  // namespace sonde
