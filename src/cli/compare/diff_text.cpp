// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A comparison as text for a terminal, and as Markdown for a summary of a build.

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "cli/compare/diff.h"
#include "cli/print/markdown.h"

namespace sonde::cli {
namespace {

std::string headline(const Comparison& result) {
  std::string text =
      counted_text(result.base_runs, "run") + " against " + counted_text(result.now_runs, "run");
  if (result.has_steps) text += ", " + counted_text(result.steps, "step") + " or more each";
  return text;
}

bool differs_nowhere(const std::vector<ItemChange>& items) {
  return std::all_of(items.begin(), items.end(),
                     [](const ItemChange& item) { return item.delta_ns() == 0; });
}

void write_items(const char* what, const Comparison& of, const std::vector<ItemChange>& items,
                 double total_ns, int row_limit, Output& out) {
  out.line(format_text("Why: {} {}.", what, took_text(total_ns)));
  if (total_ns == 0 && differs_nowhere(items)) return out.line("");
  const ShownItems shown = shown_items(items, total_ns, row_limit);
  for (const ItemChange* const item : shown.rows)
    out.line(
        format_text("  {:>12}  {}", delta_text(item->delta_ns()), item_text(*item, of.has_steps)));
  if (shown.others > 0)
    out.line(format_text("  {:>12}  all others ({})", delta_text(shown.others_ns),
                         count_text(shown.others)));
  out.line(format_text("  {:>12}  in total", delta_text(total_ns)));
  out.line("");
}

std::string change_of(const ExactChange& change) {
  if (!change.has_changed()) return change.repeats() ? "same" : "varies from run to run";
  if (!change.repeats()) return "changed; it varies from run to run";
  const double before = static_cast<double>(change.base_low);
  const std::int64_t more = change.now_low - change.base_low;
  const std::string difference =
      (more < 0 ? "-" : "+") + exact_value(change.name, std::abs(more), std::abs(more));
  return before == 0 ? "changed: " + difference
                     : "changed: " + difference + ", " +
                           percent_text(static_cast<double>(change.now_low) / before - 1);
}

std::string in_cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, 1, '\\');
  return text;
}

const char* mark_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Passed:
      return "✅ passed";
    case Verdict::Failed:
      return "❌ failed";
    case Verdict::Undecided:
      return "❔ undecided";
  }
  return "";
}

void write_markdown_items(const char* what, const Comparison& of,
                          const std::vector<ItemChange>& items, double total_ns, int row_limit,
                          Output& out) {
  if (total_ns == 0 && differs_nowhere(items)) return;
  out.line(format_text("\n### Why {} {}\n", what, took_text(total_ns)));
  out.line("| change | in |\n|---:|---|");
  const ShownItems shown = shown_items(items, total_ns, row_limit);
  for (const ItemChange* const item : shown.rows)
    out.line(format_text("| {} | {} |", delta_text(item->delta_ns()),
                         markdown_text(item_text(*item, of.has_steps))));
  if (shown.others > 0)
    out.line(format_text("| {} | all others ({}) |", delta_text(shown.others_ns),
                         count_text(shown.others)));
  out.line(format_text("| **{}** | **in total** |", delta_text(total_ns)));
}

}  // namespace

void write_diff_text(const Comparison& result, int row_limit, Output& out) {
  out.line(headline(result));
  for (const std::string& warning : result.warnings) out.line("! " + warning);
  out.line("");
  if (!result.exact.empty())
    out.line(result.has_steps ? "Exact, per step:" : "Exact, in the whole recording:");
  for (const ExactChange& change : result.exact)
    out.line(format_text("  {:<14} {:>14} → {:<14} {}", change.name,
                         exact_value(change.name, change.base_low, change.base_high),
                         exact_value(change.name, change.now_low, change.now_high),
                         change_of(change)));
  if (!result.exact.empty()) out.line("");
  out.line((result.has_steps ? "step    " : "all     ") + time_sentence(result.step));
  if (result.has_device) out.line("device  " + time_sentence(result.device));
  out.line("");
  write_items(result.has_steps ? "a step" : "the recording", result, result.host,
              result.step_delta_ns, row_limit, out);
  if (result.has_device)
    write_items("the device's work", result, result.device_work, result.device_delta_ns, row_limit,
                out);
  for (const GateResult& gate : result.gates)
    out.line(format_text("{:<9}  {}: {}", to_string(gate.verdict), gate.gate.text, gate.why));
}

void write_diff_markdown(const Comparison& result, int row_limit, Output& out) {
  out.line("## " + headline(result) + "\n");
  for (const std::string& warning : result.warnings) out.line("> ⚠️ " + warning + "\n");
  if (!result.gates.empty()) out.line("| gate | | |\n|---|---|---|");
  for (const GateResult& gate : result.gates)
    out.line(format_text("| `{}` | {} | {} |", in_cell(gate.gate.text), mark_of(gate.verdict),
                         markdown_text(gate.why)));
  out.line(format_text("\n| {} | base → new |\n|---|---|",
                       result.has_steps ? "per step" : "whole recording"));
  out.line(format_text("| {} | {} |", result.has_steps ? "step" : "all",
                       markdown_text(time_sentence(result.step))));
  if (result.has_device)
    out.line(format_text("| device | {} |", markdown_text(time_sentence(result.device))));
  for (const ExactChange& change : result.exact)
    out.line(format_text("| {} | {} → {}, {} |", change.name,
                         exact_value(change.name, change.base_low, change.base_high),
                         exact_value(change.name, change.now_low, change.now_high),
                         change_of(change)));
  write_markdown_items(result.has_steps ? "a step" : "the recording", result, result.host,
                       result.step_delta_ns, row_limit, out);
  if (result.has_device)
    write_markdown_items("the device's work", result, result.device_work, result.device_delta_ns,
                         row_limit, out);
}

}  // namespace sonde::cli
