// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// One run of a program in a few kilobytes: what a comparison with other runs needs.
//
//   const RunSummary run = run_summary(trace, "run1.sonde");
//   for (const RunItem& item : run.items) std::cout << item.name << " " << item.mean_ns << "\n";
//
// All figures are per step: the median over the steady steps, which are all but the first. Without
// steps, the whole recording counts as one. Ranks of a run are joined with joined_ranks().

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// What tells operators of one name apart, and their kernels.
struct RunGrouping {
  bool by_shapes = false;  // the sizes of their inputs
  bool by_module = false;  // the module that ran them

  // Not defaulted: this header compiles as C++17.
  bool operator==(const RunGrouping& other) const {
    return by_shapes == other.by_shapes && by_module == other.by_module;
  }
};

// Part of a step's time: of the host, or of the device.
struct RunItem {
  bool is_device = false;
  std::string name;         // of an operator, or of a kernel with # in place of its sizes
  std::string owner;        // of device work: the operator that launched it
  std::string place;        // "train.py:12", where the trace says it; not part of its identity
  double median_ns = 0;     // over the steps
  double mean_ns = 0;       // over the steps; those of the host add up to step_mean_ns
  double count = 0;         // median over the steps
  std::string shapes = {};  // of the operator's inputs, if grouped by them: "[[64, 3], []]"
  std::string module = {};  // that ran the operator, if grouped by it: "model.encoder.layer0"
};

struct RunSummary {
  std::string name;
  std::string program;               // "train.py"; empty: not known
  std::vector<std::string> devices;  // names
  int ranks = 1;
  std::int64_t started_ns = 0;
  std::size_t steps = 0;       // that were counted
  bool has_steps = false;      // else the whole recording counts as one
  bool is_incomplete = false;  // the trace's ledger says that something is missing
  RunGrouping grouping;

  double step_median_ns = 0;
  double step_mean_ns = 0;
  double device_median_ns = 0;  // durations of device work, added up
  double device_mean_ns = 0;

  // Integers that repeat from run to run: kernels, launches, copies, …; absent: not recorded.
  std::map<std::string, std::int64_t> exact;
  std::vector<RunItem> items;
};

RunSummary run_summary(const Trace& trace, std::string name, const RunGrouping& grouping = {});

// One run from its ranks: counts and bytes are added up, memory is the largest, times are averages.
RunSummary joined_ranks(const std::vector<RunSummary>& ranks);

// Runs as a text of some kilobytes, for a repository: one line a figure, one column a run.
std::string baseline_text(const std::vector<RunSummary>& runs);
Result<std::vector<RunSummary>> parse_baseline(std::string_view text);

}  // namespace sonde
