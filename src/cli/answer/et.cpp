// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde et`: reads and checks execution traces, makes them from traces, writes other formats.

#include "cli/answer/et.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/print/progress.h"
#include "sonde/trace/execution_trace_file.h"

namespace sonde::cli {
namespace {

struct Opened {
  ExecutionTrace et;
  bool is_made = false;        // from `trace`
  std::optional<Trace> trace;  // of the same run
};

Result<Opened> make_from_trace(const std::string& path, const OpenOptions& options) {
  SONDE_TRY(Trace trace, open_to_answer(path, options));
  Result<ExecutionTrace> made = execution_trace_of(trace);
  if (!made) return Failure(made.error().code, path + ": " + made.error().message);
  return Opened{*std::move(made), true, std::move(trace)};
}

Result<Opened> open_either(const std::string& path, const OpenOptions& options) {
  if (!is_execution_trace(path, options)) return make_from_trace(path, options);
  const Progress progress("opening " + path);
  SONDE_TRY(ExecutionTrace et, open_execution_trace(path, options));
  const std::string where = path + ": ";
  for (const std::string& problem : et.problems) say(where + problem);
  return Opened{std::move(et), false, std::nullopt};
}

std::vector<std::string> texts_of(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (const std::uint64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

void add_join_checks(const ExecutionTraceJoin& join, std::vector<EtCheck>& checks) {
  checks.push_back({"every node is in the trace", join.only_nodes});
  checks.push_back({"every operator of the trace has a node", join.only_spans});
  checks.push_back({"names are the same in both", join.other_names});
  if (join.joined == 0) checks.back().wrong.emplace_back("the two have no operator in common");
}

std::vector<EtCheck> checks_of(const ExecutionTraceSummary& summary,
                               const std::optional<ExecutionTraceJoin>& join) {
  std::vector<EtCheck> checks = {
      {"the root is there", {}},
      {"every id is unique", texts_of(summary.repeated_ids)},
      {"every parent exists", texts_of(summary.without_parent)},
      {"every node begins after its parent", texts_of(summary.before_their_parent)},
      {"every tensor is defined before its use", texts_of(summary.undefined_tensors)},
  };
  if (!summary.has_root) checks.front().wrong.emplace_back("it is missing");
  if (join) add_join_checks(*join, checks);
  return checks;
}

Result<void> verdict(const EtReport& report) {
  const auto failed = std::count_if(report.checks.begin(), report.checks.end(),
                                    [](const EtCheck& check) { return !check.wrong.empty(); });
  if (failed == 0) return {};
  return Failure(ErrorCode::Corrupt, report.file + ": " + std::to_string(failed) + " of " +
                                         std::to_string(report.checks.size()) + " checks failed");
}

}  // namespace

Result<void> check(const EtCommand& options) {
  for (const std::string_view suffix : {"", ".json", ".json.gz", ".et", ".chakra"})
    if (options.output.ends_with(suffix) && options.output.empty() == suffix.empty()) return {};
  return Failure(
      ErrorCode::Invalid,
      options.output +
          ": the name of an execution trace must end in .json, .json.gz, .et or .chakra");
}

Result<void> run_et(const EtCommand& options, Output& out) {
  SONDE_TRY(Opened opened, open_either(options.file, options.open));
  if (!options.trace.empty()) {
    SONDE_TRY(opened.trace, open_to_answer(options.trace, options.open));
  }
  const Trace* const trace = opened.trace ? &*opened.trace : nullptr;
  if (!options.output.empty()) {
    SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
    const Progress progress("writing " + options.output);
    SONDE_TRY_VOID(export_execution_trace(opened.et, options.output, trace));
  }
  EtReport report{.file = options.file,
                  .et = opened.et,
                  .is_made = opened.is_made,
                  .summary = execution_trace_summary(opened.et),
                  .join = std::nullopt,
                  .checks = {}};
  if (!options.trace.empty()) report.join = execution_trace_join(opened.et, *trace);
  report.checks = checks_of(report.summary, report.join);
  const std::size_t rows = options.row_limit < 0 ? std::numeric_limits<std::size_t>::max()
                                                 : static_cast<std::size_t>(options.row_limit);
  if (options.output.empty()) {
    options.format == Format::Json ? write_et_json(report, rows, out)
                                   : write_et_text(report, rows, out);
  }
  return verdict(report);
}

}  // namespace sonde::cli
