// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// `sonde diff`: runs of a changed program against runs of the old one.

#include <string>
#include <vector>

#include "cli/print/output.h"
#include "sonde/analyse/compare.h"
#include "sonde/open.h"
#include "sonde/view/trace_page.h"

namespace sonde::cli {

struct DiffCommand {
  std::vector<std::string> base;
  std::vector<std::string> now;
  OpenOptions open;
  std::vector<std::string> gates;
  std::string format = "text";  // text, markdown, json, junit or html
  std::string output;           // empty: standard output
  std::string record;           // write the base's runs here, as a baseline; empty: compare
  std::string history;          // add the base's runs here, and show changes; empty: compare
  std::string commit;           // of the runs that are added; empty: as CI says
  int row_limit = 10;           // of each explanation; -1: all
  RunGrouping grouping;
};
Result<void> check(const DiffCommand& command);
// The exit status: 0, 1 if a gate failed, 3 if one is undecided.
Result<int> run_diff(const DiffCommand& command, Output& out);
// For the page of the new version's trace, or a page of its own.
PageView diff_view(const Comparison& result);

// The runs that files, folders and baselines hold; the ranks of a run are one.
Result<std::vector<RunSummary>> read_runs(const std::vector<std::string>& paths,
                                          const OpenOptions& open,
                                          const RunGrouping& grouping = {});

// The version that the runs are of; empty: nobody says.
std::string commit_of(const DiffCommand& command);
Result<void> run_history(const DiffCommand& command, Output& out);

void write_diff_text(const Comparison& result, int row_limit, Output& out);
void write_diff_markdown(const Comparison& result, int row_limit, Output& out);
void write_diff_json(const Comparison& result, Output& out);
void write_diff_junit(const Comparison& result, Output& out);

// What the texts share.
std::string signed_percent(double share);    // "+4.6"
std::string percent_text(double share);      // "+4.6 %"
std::string delta_text(double nanoseconds);  // "+1.234 ms"
std::string time_sentence(const TimeChange& change);
std::string item_text(const ItemChange& item, bool has_steps);
// "took 3 µs more", "took as long as before".
std::string took_text(double delta_ns);
std::string exact_value(const std::string& name, std::int64_t low, std::int64_t high);
// Rows of an explanation: the largest, and how much all others together are.
struct ShownItems {
  std::vector<const ItemChange*> rows;
  std::size_t others = 0;
  double others_ns = 0;
};
ShownItems shown_items(const std::vector<ItemChange>& items, double total_ns, int row_limit);

}  // namespace sonde::cli
