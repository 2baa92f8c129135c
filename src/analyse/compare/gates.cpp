// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/compare/gates.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "analyse/compare/statistics.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr std::string_view kExactNames[] = {
    "allocations", "bytes_copied", "collectives", "copies",      "flops", "graph_breaks",
    "kernels",     "launches",     "operators",   "peak_memory", "syncs"};

bool is_time(std::string_view metric) {
  return metric == "step" || metric == "device";
}

bool is_known_metric(std::string_view metric) {
  return is_time(metric) ||
         std::find(std::begin(kExactNames), std::end(kExactNames), metric) != std::end(kExactNames);
}

bool is_of_device(std::string_view metric) {
  return metric == "kernels" || metric == "launches" || metric == "copies" || metric == "syncs" ||
         metric == "bytes_copied";
}

Failure bad_gate(std::string_view text, std::string_view why) {
  return Failure(ErrorCode::Invalid, "gate '" + std::string(text) + "': " + std::string(why) +
                                         "; write it like 'step<5%' or 'launches=0'");
}

// Never "-0.0".
std::string signed_percent(double share) {
  return format_text("{:+.1f}", std::round(1000 * share) / 10 + 0.0);
}
std::string percent(double share) {
  return signed_percent(share) + " %";
}
// Two digits: 0.065, 2.4, 24, 240.
std::string about_percent(double share) {
  constexpr double kWithoutPoint = 99.5;
  const double percent = 100 * share;
  return percent < kWithoutPoint ? format_text("{:.2g} %", percent)
                                 : format_text("{:.0f} %", percent);
}
std::string percent_limit(double share) {
  return format_text("{:g} %", 100 * share);
}

std::vector<double> times_of(const std::vector<RunSummary>& runs, std::string_view metric) {
  std::vector<double> times;
  times.reserve(runs.size());
  for (const RunSummary& run : runs)
    times.push_back(metric == "step" ? run.step_median_ns : run.device_median_ns);
  return times;
}

bool all_positive(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

class Judge {
 public:
  Judge(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now,
        const Comparison& result)
      : base_(base), now_(now), result_(result) {}

  GateResult exact(const Gate& gate) const {
    const auto found = std::find_if(result_.exact.begin(), result_.exact.end(),
                                    [&](const ExactChange& e) { return e.name == gate.metric; });
    const bool is_one_sided = std::find(result_.one_sided.begin(), result_.one_sided.end(),
                                        gate.metric) != result_.one_sided.end();
    if (is_one_sided) return {gate, Verdict::Undecided, "only one side recorded it"};
    if (found == result_.exact.end()) return not_recorded(gate);
    const double base = static_cast<double>(found->base_high);
    const double allowed = gate.is_equal ? base : base * (1 + gate.limit);
    const auto within = [&](std::int64_t value) {
      return gate.is_equal ? value == found->base_low && found->base_low == found->base_high
                           : static_cast<double>(value) <= allowed;
    };
    GateResult judged{gate, Verdict::Passed, text_of(*found)};
    if (within(found->now_high) && within(found->now_low)) return judged;
    const bool differs = gate.is_equal ? found->has_changed() : !within(found->now_low);
    if (differs) {
      judged.verdict = Verdict::Failed;
    } else if (!found->repeats()) {
      const bool is_inside =
          found->now_low >= found->base_low && found->now_high <= found->base_high;
      if (!(gate.is_equal && is_inside)) judged.verdict = Verdict::Undecided;
      judged.why += "; it varies from run to run";
    }
    return judged;
  }

  // With fewer than three runs on a side.
  GateResult time_of_few(const Gate& gate) const {
    if (gate.metric == "step")
      return {
          gate, Verdict::Undecided,
          format_text("host times need {} runs of each version to be tested; there are {} and {}",
                      detail::kFewestRuns, base_.size(), now_.size())};
    const double change = result_.device.change;
    const double floor = std::max(gate.limit, detail::kDeviceFloorOfOneRun);
    const Verdict verdict = change > floor        ? Verdict::Failed
                            : change > gate.limit ? Verdict::Undecided
                                                  : Verdict::Passed;
    return {gate, verdict,
            percent(change) +
                ", judged by the medians alone because there are fewer than three runs of each "
                "version, and then less than 2 % more proves nothing"};
  }

  // `among`: how many gates are tested, itself included.
  GateResult time(const Gate& gate, double adjusted_p, const detail::Shift& shift,
                  std::size_t among) const {
    const double detectable =
        detail::detectable_change(shift, detail::kGateLevel / static_cast<double>(among));
    const bool is_more = adjusted_p < detail::kGateLevel && shift.estimate > gate.limit;
    GateResult judged{
        gate, Verdict::Passed,
        format_text("{} ({} … {} %), p {:.2g}; an increase of {} could have been seen",
                    percent(shift.estimate), signed_percent(shift.interval.low),
                    signed_percent(shift.interval.high), adjusted_p, about_percent(detectable))};
    if (is_more) {
      judged.verdict = Verdict::Failed;
    } else if (detectable > std::max(gate.limit, 1e-9)) {
      judged.verdict = Verdict::Undecided;
      judged.why += ", which is more than the " + percent_limit(gate.limit) +
                    " asked for: record more runs or steadier ones";
    }
    return judged;
  }

 private:
  static GateResult not_recorded(const Gate& gate) {
    if (gate.metric == "peak_memory" || gate.metric == "allocations")
      return {gate, Verdict::Undecided, "memory was not recorded; record with --memory"};
    if (gate.metric == "flops")
      return {gate, Verdict::Undecided,
              "no operator has known FLOPs; they need the shapes: record with --shapes"};
    if (is_of_device(gate.metric))
      return {gate, Verdict::Passed, "neither side has any; a GPU's are recorded with --gpu only"};
    return {gate, Verdict::Passed, "neither side has any"};
  }
  static std::string range(std::int64_t low, std::int64_t high) {
    const std::string least = count_text(static_cast<std::uint64_t>(low));
    return low == high ? least : least + " to " + count_text(static_cast<std::uint64_t>(high));
  }
  static std::string text_of(const ExactChange& change) {
    const bool is_bytes = change.name == "peak_memory" || change.name == "bytes_copied";
    return range(change.base_low, change.base_high) + (is_bytes ? " bytes" : "") + " before, " +
           range(change.now_low, change.now_high) + " now";
  }

  const std::vector<RunSummary>& base_;
  const std::vector<RunSummary>& now_;
  const Comparison& result_;
};

Verdict overall(const std::vector<GateResult>& gates) {
  const auto any = [&](Verdict verdict) {
    return std::any_of(gates.begin(), gates.end(),
                       [&](const GateResult& gate) { return gate.verdict == verdict; });
  };
  if (any(Verdict::Failed)) return Verdict::Failed;
  return any(Verdict::Undecided) ? Verdict::Undecided : Verdict::Passed;
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::Passed:
      return "passed";
    case Verdict::Failed:
      return "failed";
    case Verdict::Undecided:
      return "undecided";
  }
  return "?";
}

Result<Gate> parse_gate(std::string_view given) {
  std::string text(given);
  std::erase(text, ' ');
  const std::size_t sign = text.find_first_of("<=");
  if (sign == std::string_view::npos || sign == 0) return bad_gate(text, "there is no < or =");
  Gate gate{text, text.substr(0, sign), 0, text[sign] == '='};
  if (!is_known_metric(gate.metric)) {
    std::string known = "step, device";
    for (const std::string_view name : kExactNames) known += ", " + std::string(name);
    return bad_gate(text, "unknown metric '" + gate.metric + "', use one of: " + known);
  }
  std::string_view number = std::string_view(text).substr(sign + 1);
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.remove_suffix(1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), gate.limit);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(gate.limit) ||
      gate.limit < 0)
    return bad_gate(text, "'" + std::string(number) + "' is not a number from 0");
  if (gate.is_equal && (is_percent || gate.limit != 0))
    return bad_gate(text, "= only takes 0: no change at all");
  if (gate.is_equal && is_time(gate.metric))
    return bad_gate(text, "times never repeat exactly, so they need a limit");
  if (!gate.is_equal && !is_percent) return bad_gate(text, "a limit is in percent");
  gate.limit /= 100;
  return gate;
}

void detail::judge_gates(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now,
                         const std::vector<Gate>& gates, Comparison& result) {
  const Judge judge(base, now, result);
  const bool has_enough = std::min(base.size(), now.size()) >= kFewestRuns;
  std::vector<std::optional<Shift>> shifts(gates.size());
  std::vector<double> p;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    if (!is_time(gates[i].metric) || !has_enough) continue;
    const std::vector<double> before = times_of(base, gates[i].metric);
    const std::vector<double> after = times_of(now, gates[i].metric);
    if (!all_positive(before) || !all_positive(after)) continue;
    const Shift shift = shift_between(before, after);
    p.push_back(shift.p_more);
    shifts[i] = shift;
  }
  const std::vector<double> adjusted = holm(p);
  std::size_t next = 0;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const std::optional<Shift>& shift = shifts[i];
    if (!is_time(gates[i].metric)) {
      result.gates.push_back(judge.exact(gates[i]));
    } else if (gates[i].metric == "device" && !result.has_device) {
      result.gates.push_back({gates[i], Verdict::Undecided,
                              "no run has device work; a GPU's is recorded with --gpu only"});
    } else if (shift) {
      result.gates.push_back(judge.time(gates[i], adjusted[next++], *shift, p.size()));
    } else if (has_enough) {
      result.gates.push_back({gates[i], Verdict::Undecided, "a run has no such time"});
    } else {
      result.gates.push_back(judge.time_of_few(gates[i]));
    }
  }
  result.verdict = overall(result.gates);
}

}  // namespace sonde
