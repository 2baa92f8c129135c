// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde diff RUNS... --history FILE`: adds the figures of a version to a history, and shows where
// the figures changed.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/format.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/compare/diff.h"
#include "cli/print/json_writer.h"
#include "sonde/analyse/history.h"

namespace sonde::cli {
namespace {

struct History {
  std::string text;  // as it is in the file, with what others added to its lines
  std::vector<HistoryValue> values;
};

Result<History> read_history(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return History();
  SONDE_TRY(std::string text, read_file(path));
  Result<std::vector<HistoryValue>> values = parse_history(text);
  if (!values) return Failure(values.error().code, path + ": " + values.error().message);
  if (!text.empty() && text.back() != '\n') text += '\n';
  return History{std::move(text), *std::move(values)};
}

std::string value_text(const ChangePoint& change, double value) {
  if (!change.is_exact) return duration_text(std::llround(value));
  if (value < 0 || value != std::floor(value)) return format_text("{:g}", value);
  return exact_value(change.metric, std::llround(value), std::llround(value));
}

// "step" for "step_ns".
std::string metric_name(const std::string& metric) {
  return metric == "step_ns" ? "step" : metric == "device_ns" ? "device" : metric;
}

std::string change_sentence(const ChangePoint& change) {
  std::string text = value_text(change, change.before) + " → " + value_text(change, change.after);
  if (change.before > 0) text += ", " + percent_text(change.change);
  if (!change.is_exact)
    text += format_text(" ({} … {} %)", signed_percent(change.low), signed_percent(change.high));
  return text;
}

void write_history_text(const std::vector<HistoryValue>& values,
                        const std::vector<ChangePoint>& changes, Output& out) {
  const std::size_t versions = history_commits(values).size();
  constexpr std::size_t kFewest = 6;
  out.line(counted_text(versions, "version") + ", " + counted_text(changes.size(), "change"));
  for (const ChangePoint& change : changes)
    out.line(format_text("  {:<14} since {:<12.40} {}", metric_name(change.metric), change.commit,
                         change_sentence(change)));
  if (versions < kFewest)
    out.line(
        format_text("Changes of times need {} versions: three before and three after.", kFewest));
}

void write_history_markdown(const std::vector<HistoryValue>& values,
                            const std::vector<ChangePoint>& changes, Output& out) {
  out.line("## " + counted_text(history_commits(values).size(), "version") + ", " +
           counted_text(changes.size(), "change"));
  if (changes.empty()) return;
  out.line("\n| figure | since | change |\n|---|---|---|");
  for (const ChangePoint& change : changes)
    out.line(format_text("| {} | `{}` | {} |", metric_name(change.metric), change.commit,
                         change_sentence(change)));
}

void write_history_json(const std::vector<HistoryValue>& values,
                        const std::vector<ChangePoint>& changes, Output& out) {
  const auto number = [](JsonWriter& json, const char* key, double value) {
    char digits[kMaxJsonNumber];
    const char* const end = put_json_number(digits, value);
    json.key(key).embed({digits, static_cast<std::size_t>(end - digits)});
  };
  JsonWriter json(out);
  json.begin_object();
  json.key("versions").value(history_commits(values).size());
  json.key("changes").begin_array();
  for (const ChangePoint& change : changes) {
    json.begin_object();
    json.key("metric").value(change.metric);
    json.key("commit").value(change.commit);
    json.key("place").value(change.place);
    json.key("exact").value(change.is_exact);
    number(json, "before", change.before);
    number(json, "after", change.after);
    number(json, "change", change.change);
    if (!change.is_exact) {
      number(json, "low", change.low);
      number(json, "high", change.high);
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  out.line("");
}

// Runs that the history has already are not added again.
std::vector<HistoryValue> not_yet_known(const std::vector<HistoryValue>& added,
                                        const std::vector<HistoryValue>& known) {
  std::set<std::pair<std::string, std::pair<std::string, std::int64_t>>> runs;
  for (const HistoryValue& value : known)
    runs.insert({value.commit, {value.run, value.started_ns}});
  std::vector<HistoryValue> fresh;
  for (const HistoryValue& value : added)
    if (!runs.contains({value.commit, {value.run, value.started_ns}})) fresh.push_back(value);
  return fresh;
}

}  // namespace

std::string commit_of(const DiffCommand& command) {
  if (!command.commit.empty()) return command.commit;
  for (const char* const name : {"GITHUB_SHA", "CI_COMMIT_SHA"})
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0')
      return value;
  return "";
}

Result<void> run_history(const DiffCommand& command, Output& out) {
  SONDE_TRY(History history, read_history(command.history));
  std::vector<HistoryValue>& values = history.values;
  if (!command.base.empty()) {
    SONDE_TRY(const std::vector<RunSummary> runs,
              read_runs(command.base, command.open, command.grouping));
    const std::vector<HistoryValue> added =
        not_yet_known(history_values(runs, commit_of(command)), values);
    values.insert(values.end(), added.begin(), added.end());
    if (!added.empty())
      SONDE_TRY_VOID(write_file_whole(command.history, history.text + history_text(added)));
  } else if (values.empty()) {
    return Failure(ErrorCode::NotFound,
                   command.history + ": there is no history yet; name runs to begin one");
  }
  const std::vector<ChangePoint> changes = change_points(values);
  if (command.format == "json") {
    write_history_json(values, changes, out);
  } else if (command.format == "markdown") {
    write_history_markdown(values, changes, out);
  } else {
    write_history_text(values, changes, out);
  }
  return {};
}

}  // namespace sonde::cli
