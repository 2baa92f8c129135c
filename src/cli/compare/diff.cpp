// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/compare/diff.h"

#include <cmath>

#include "base/format.h"
#include "base/output_file.h"
#include "base/readable.h"
#include "base/text.h"

namespace sonde::cli {
namespace {

constexpr int kGateFailed = 1;
constexpr int kUndecided = 3;

int exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::Passed:
      return 0;
    case Verdict::Failed:
      return kGateFailed;
    case Verdict::Undecided:
      return kUndecided;
  }
  return kGateFailed;
}

Result<void> write_as(const DiffCommand& command, const Comparison& result, Output& out) {
  if (command.format == "html" || command.output.ends_with(".html")) {
    SONDE_TRY(const std::string page, view_page(diff_view(result), command.now.front()));
    out.for_programs();
    out.write(page);
  } else if (command.format == "markdown") {
    write_diff_markdown(result, command.row_limit, out);
  } else if (command.format == "json") {
    write_diff_json(result, out);
  } else if (command.format == "junit") {
    write_diff_junit(result, out);
  } else {
    write_diff_text(result, command.row_limit, out);
  }
  return {};
}

Result<std::vector<Gate>> gates_of(const DiffCommand& command) {
  std::vector<Gate> gates;
  for (const std::string& text : command.gates) {
    SONDE_TRY(Gate gate, parse_gate(text));
    gates.push_back(std::move(gate));
  }
  return gates;
}

std::string unsigned_duration(double nanoseconds) {
  return duration_text(static_cast<std::int64_t>(std::llround(std::abs(nanoseconds))));
}

// Names of kernels may fill a page.
std::string shown_name(std::string_view name) {
  constexpr std::size_t kLongest = 96;
  return readable_start(name, kLongest);
}

std::string count_change(const ItemChange& item, bool has_steps) {
  const char* const per = has_steps ? "a step" : "in all";
  if (item.base_count == item.now_count)
    return item.now_count == 0 ? "" : format_text(", {:g} {}", item.now_count, per);
  return format_text(", {:g} → {:g} {}", item.base_count, item.now_count, per);
}

}  // namespace

Result<void> check_history(const DiffCommand& command) {
  if (!command.now.empty() || !command.record.empty() || !command.gates.empty())
    return Failure(ErrorCode::Invalid,
                   "--history takes the runs of one version, and neither --record nor --gate");
  if (command.format == "junit")
    return Failure(ErrorCode::Invalid, "--history has no format junit; use text, markdown or json");
  if (!command.base.empty() && commit_of(command).empty())
    return Failure(ErrorCode::Invalid, "--commit: name the version of these runs");
  return {};
}

Result<void> check(const DiffCommand& command) {
  if (!command.history.empty()) return check_history(command);
  if (!command.commit.empty())
    return Failure(ErrorCode::Invalid, "--commit only works with --history");
  if (command.base.empty())
    return Failure(ErrorCode::Invalid, "no base given: sonde diff BASE... -- NEW...");
  if (command.now.empty() && command.record.empty())
    return Failure(ErrorCode::Invalid, "nothing to compare with: sonde diff BASE... -- NEW...");
  if (!command.now.empty() && !command.record.empty())
    return Failure(ErrorCode::Invalid, "--record takes the runs of one side");
  if (!command.record.empty() && !command.record.ends_with(".sondebase"))
    return Failure(ErrorCode::Invalid, "--record: the name of a baseline ends with .sondebase");
  const Result<std::vector<Gate>> gates = gates_of(command);
  if (!gates) return Failure(gates.error());
  return {};
}

Result<int> run_diff(const DiffCommand& command, Output& out) {
  if (!command.history.empty()) {
    if (command.output.empty()) {
      SONDE_TRY_VOID(run_history(command, out));
      return 0;
    }
    Output text;
    SONDE_TRY_VOID(run_history(command, text));
    SONDE_TRY_VOID(write_file_whole(command.output, text.take()));
    return 0;
  }
  SONDE_TRY(const std::vector<Gate> gates, gates_of(command));
  SONDE_TRY(const std::vector<RunSummary> base,
            read_runs(command.base, command.open, command.grouping));
  if (!command.record.empty()) {
    SONDE_TRY_VOID(write_file_whole(command.record, baseline_text(base)));
    out.line(format_text("{}: {} with {} figures each", command.record,
                         counted_text(base.size(), "run"), base.front().items.size()));
    return 0;
  }
  SONDE_TRY(const std::vector<RunSummary> now,
            read_runs(command.now, command.open, command.grouping));
  const Comparison result = compare_runs(base, now, gates);
  if (command.output.empty()) {
    SONDE_TRY_VOID(write_as(command, result, out));
  } else {
    Output text;
    SONDE_TRY_VOID(write_as(command, result, text));
    SONDE_TRY_VOID(write_file_whole(command.output, text.take()));
  }
  return exit_status(result.verdict);
}

PageView diff_view(const Comparison& result) {
  Output text;
  write_diff_json(result, text);
  return {"compare", text.take()};
}

// Never "-0.0".
std::string signed_percent(double share) {
  return format_text("{:+.1f}", std::round(1000 * share) / 10 + 0.0);
}

std::string percent_text(double share) {
  return signed_percent(share) + " %";
}

std::string delta_text(double nanoseconds) {
  return (std::llround(nanoseconds) < 0 ? "-" : "+") + unsigned_duration(nanoseconds);
}

std::string time_sentence(const TimeChange& change) {
  std::string text = unsigned_duration(change.base_ns) + " → " + unsigned_duration(change.now_ns);
  if (!change.is_tested) return text + ", " + percent_text(change.change) + ", not tested";
  text += format_text(", {} ({} … {} %), p {:.2g}", percent_text(change.change),
                      signed_percent(change.low), signed_percent(change.high), change.p);
  if (change.p_ranks >= 0) text += format_text(", by ranks {:.2g}", change.p_ranks);
  text += change.is_finding ? ": changed"
          : change.is_small ? ": too small a change to count"
                            : ": no change found";
  const double detectable = 100 * change.detectable;
  constexpr double kWithoutPoint = 99.5;
  return text + (detectable < kWithoutPoint
                     ? format_text("; {:.2g} % could have been seen", detectable)
                     : format_text("; {:.0f} % could have been seen", detectable));
}

std::string item_text(const ItemChange& item, bool has_steps) {
  std::string text = shown_name(item.item.name);
  if (!item.item.owner.empty()) text += " in " + shown_name(item.item.owner);
  if (!item.item.shapes.empty()) text += " " + shown_name(item.item.shapes);
  if (!item.item.module.empty()) text += " of " + shown_name(item.item.module);
  if (item.status == ItemStatus::New) text += " (new)";
  if (item.status == ItemStatus::Gone) text += " (gone)";
  if (item.status == ItemStatus::Replaced) text += " (replaces " + shown_name(item.replaces) + ")";
  text += count_change(item, has_steps);
  const bool is_both = item.status == ItemStatus::Both;
  if (is_both && item.time.is_tested) {
    text += ", median " + percent_text(item.time.change);
    text += item.time.is_finding ? ", changed"
            : item.time.is_small ? ", too small to count"
                                 : ", within the noise";
  } else if ((is_both || item.status == ItemStatus::Replaced) && item.base_mean_ns > 0) {
    text += ", " + percent_text(item.now_mean_ns / item.base_mean_ns - 1);
  }
  if (!item.item.place.empty()) text += ", " + shown_name(item.item.place);
  return text;
}

std::string took_text(double delta_ns) {
  if (std::llround(delta_ns) == 0) return "took as long as before";
  return "took " + unsigned_duration(delta_ns) + (delta_ns < 0 ? " less" : " more") + " on average";
}

std::string exact_value(const std::string& name, std::int64_t low, std::int64_t high) {
  const bool is_bytes = name == "bytes_copied" || name == "peak_memory";
  const auto one = [&](std::int64_t value) {
    const auto number = static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
    return is_bytes ? bytes_text(number) : count_text(number);
  };
  return low == high ? one(low) : one(low) + " to " + one(high);
}

ShownItems shown_items(const std::vector<ItemChange>& items, double total_ns, int row_limit) {
  ShownItems shown;
  shown.others_ns = total_ns;
  for (const ItemChange& item : items) {
    if (row_limit >= 0 && shown.rows.size() >= static_cast<std::size_t>(row_limit)) break;
    if (std::llround(item.delta_ns()) == 0) break;
    shown.rows.push_back(&item);
    shown.others_ns -= item.delta_ns();
  }
  shown.others = items.size() - shown.rows.size();
  return shown;
}

}  // namespace sonde::cli
