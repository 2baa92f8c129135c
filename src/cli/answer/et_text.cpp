// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/answer/et.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kMostWrong = 5;
constexpr std::size_t kWidestName = 60;

std::string wrong_text(const EtCheck& check) {
  std::string text;
  for (std::size_t i = 0; i < std::min(check.wrong.size(), kMostWrong); ++i)
    text += (i > 0 ? ", " : ": ") + readable_line(check.wrong[i]);
  if (check.wrong.size() > kMostWrong)
    text += format_text(", … {} in total", count_text(check.wrong.size()));
  return text;
}

void write_head(const EtReport& report, Output& out) {
  const ExecutionTraceSummary& summary = report.summary;
  out.line(format_text("{}: execution trace{}, schema {}, process {}", readable_line(report.file),
                       report.is_made ? " (made from a trace)" : "",
                       readable_line(report.et.schema), report.et.pid));
  if (!report.et.time.empty()) out.line("  started  " + readable_line(report.et.time));
  out.line(format_text("  nodes    {}: {}, {}, {}; {} deep", count_text(report.et.nodes.size()),
                       counted_text(summary.operators, "operator"),
                       counted_text(summary.annotations, "annotation"),
                       counted_text(summary.threads, "thread"), summary.deepest));
  out.line(format_text("  values   {}, {}", counted_text(summary.inputs, "input"),
                       counted_text(summary.outputs, "output")));
  out.line(format_text("  tensors  {} in {}; {} came from outside", count_text(summary.tensors),
                       counted_text(summary.storages, "storage"),
                       count_text(summary.tensors_from_outside)));
  if (report.join) {
    out.line(format_text("  joined   {} with spans", counted_text(report.join->joined, "node")));
  }
}

void write_row(std::size_t width, const ExecutionTraceSummary::Name& row, Output& out) {
  const std::string shown = readable_line(row.name);
  const std::string name =
      shown.size() <= width ? shown : std::string(first_whole(shown, width - 3)) + "...";
  out.line(format_text("{:<{}}  {:>8}  {:>8}  {:>8}", name, width, count_text(row.count),
                       count_text(row.inputs), count_text(row.outputs)));
}

}  // namespace

void write_et_text(const EtReport& report, std::size_t row_limit, Output& out) {
  write_head(report, out);
  for (const EtCheck& check : report.checks) {
    out.line(format_text("  {}  {}{}", check.wrong.empty() ? "checked" : "FAILED ", check.claim,
                         wrong_text(check)));
  }
  const auto& names = report.summary.names;
  const std::size_t shown = std::min(row_limit, names.size());
  if (shown == 0) return;
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i)
    width = std::max(width, readable_line(names[i].name).size());
  width = std::min(width, kWidestName);
  out.line(
      format_text("\n{:<{}}  {:>8}  {:>8}  {:>8}", "Name", width, "nodes", "inputs", "outputs"));
  for (std::size_t i = 0; i < shown; ++i) write_row(width, names[i], out);
  if (shown < names.size()) {
    out.line(
        format_text("… and {} more (--row-limit -1 shows all)", count_text(names.size() - shown)));
  }
}

}  // namespace sonde::cli
