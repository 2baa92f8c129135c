// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Whether runs of a changed program differ from runs of the old one, and in what.
//
//   const Comparison result = compare_runs(base, now, {*parse_gate("step<5%")});
//   if (result.verdict == Verdict::Failed) …
//
// The unit is the run, not the step: steps of one run have its luck in common. docs/metrics.md
// defines every figure. With fewer than three runs a side, host times are shown but not tested.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/run_summary.h"
#include "sonde/result.h"

namespace sonde {

// A condition that a change must keep: "step<5%" or "launches=0".
struct Gate {
  std::string text;
  std::string metric;
  double limit = 0;       // the largest increase that passes: 0.05 is 5 %
  bool is_equal = false;  // no change at all passes
};
// The error names the metrics that exist.
Result<Gate> parse_gate(std::string_view text);

enum class Verdict : std::uint8_t {
  Passed,
  Failed,
  Undecided,  // the runs are too few or too different from each other to tell
};
std::string_view to_string(Verdict verdict) noexcept;  // "passed", …

struct GateResult {
  Gate gate;
  Verdict verdict = Verdict::Passed;
  std::string why;  // a sentence
};

// A time, compared.
struct TimeChange {
  double base_ns = 0;  // median of the runs
  double now_ns = 0;
  double change = 0;       // relative
  bool is_tested = false;  // there are enough runs
  double low = 0;          // 95 % interval of the change
  double high = 0;
  double p = 1;             // Welch's test on logarithms
  double p_ranks = -1;      // Mann and Whitney's; -1: too few runs
  double detectable = 0;    // the least change that would have been found in 80 % of cases
  bool is_finding = false;  // it has changed
  bool is_small = false;    // it has changed, by too little to count
};

// A figure that repeats from run to run.
struct ExactChange {
  std::string name;
  std::int64_t base_low = 0;
  std::int64_t base_high = 0;
  std::int64_t now_low = 0;
  std::int64_t now_high = 0;

  bool repeats() const noexcept { return base_low == base_high && now_low == now_high; }
  bool has_changed() const noexcept { return now_low > base_high || now_high < base_low; }
};

enum class ItemStatus : std::uint8_t { Both, New, Gone, Replaced };

struct ItemChange {
  RunItem item;  // by its name in the new runs, if it is there
  ItemStatus status = ItemStatus::Both;
  std::string replaces;     // of Replaced: the kernel, or the shapes, that were there before
  double base_mean_ns = 0;  // per step, average of the runs
  double now_mean_ns = 0;
  double base_count = 0;
  double now_count = 0;
  TimeChange time;

  double delta_ns() const noexcept { return now_mean_ns - base_mean_ns; }
};

struct Comparison {
  // What keeps the sides from being comparable: read it first.
  std::vector<std::string> warnings;
  std::size_t base_runs = 0;
  std::size_t now_runs = 0;
  std::size_t steps = 0;  // fewest of any run
  bool has_steps = false;

  std::vector<ExactChange> exact;
  std::vector<std::string> one_sided;  // exact figures that only one side recorded
  TimeChange step;
  TimeChange device;
  bool has_device = false;

  // The largest change first. Their deltas add up to those of the means of step and device.
  std::vector<ItemChange> host;
  std::vector<ItemChange> device_work;
  double step_delta_ns = 0;
  double device_delta_ns = 0;

  std::vector<GateResult> gates;
  Verdict verdict = Verdict::Passed;
};

// Neither side may be empty.
Comparison compare_runs(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now,
                        const std::vector<Gate>& gates = {});

}  // namespace sonde
