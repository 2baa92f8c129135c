// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde report` for an issue or a wiki.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "cli/answer/report.h"
#include "cli/print/markdown.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kMostTableRows = 20;

// A command as code, whatever it contains.
std::string code(std::string_view text) {
  const std::string line = readable_line(text);
  std::string fence = "`";  // longer than any run of them inside
  while (line.find(fence) != std::string::npos) fence += '`';
  const std::string space = fence.size() == 1 ? "" : " ";
  return fence + space + line + space + fence;
}

class Markdown {
 public:
  Markdown(const Report& report, std::string_view name, Output& out)
      : report_(report), name_(name), out_(out) {}

  void write() {
    out_.line("# " + markdown_text(name_) + "\n");
    for (const std::string& line : sentences(report_.trace, report_.end))
      out_.line("- " + markdown_text(line));
    for (const std::string& line : trust_lines(report_)) out_.line("- " + markdown_text(line));
    for (const std::string& line : introduction(report_)) out_.line("- " + markdown_text(line));
    out_.line("\n**" + markdown_text(report_.verdict) + "**\n");
    out_.line("## Findings\n");
    for (const Finding& finding : report_.findings) add(finding);
    if (report_.findings.empty())
      out_.line("No findings: nothing that Sonde looks for would save 1 % of the time or more.");
    steps();
    devices();
    names("Operators on the host, by self time", report_.host.operators);
    if (report_.host.operators.empty()) names("Scopes, by self time", report_.host.scopes);
    names("Device work", report_.device_work);
  }

 private:
  void add(const Finding& finding) {
    const std::string saves = saving_text(report_, finding);
    out_.line(format_text("{}. **{}** ({}). {} {} {}", ++rank_, markdown_text(finding.title), saves,
                          markdown_text(finding.detail), markdown_text(finding.advice),
                          code(command_text(finding, name_))));
    for (const FindingGroup& group : finding.groups)
      out_.line("   - " + markdown_text(group_text(group)));
  }

  void head(std::string_view title, std::initializer_list<std::string_view> columns) {
    out_.line("\n## " + std::string(title) + "\n");
    row(columns);
    std::string rule = "|";
    for (std::size_t i = 0; i < columns.size(); ++i) rule += i == 0 ? "---|" : "---:|";
    out_.line(rule);
  }
  void row(std::initializer_list<std::string_view> cells) {
    std::string line = "|";
    for (const std::string_view cell : cells) line += " " + markdown_text(cell) + " |";
    out_.line(line);
  }

  void steps() {
    const std::vector<StepTime>& steps = report_.steps.steps;
    if (steps.empty()) return;
    head("Steps", {"step", "host", "in operators", "device busy", "device idle", "copies", "peak"});
    for (std::size_t i = 0; i < std::min(steps.size(), kMostTableRows); ++i) {
      const StepTime& step = steps[i];
      const bool has_device = step.device_busy_ns >= 0;
      row({std::to_string(step.step), duration_text(step.host_ns()),
           duration_text(step.in_operators_ns),
           has_device ? duration_text(step.device_busy_ns) : "",
           has_device ? duration_text(step.device_idle_ns) : "",
           has_device ? duration_text(step.copies_ns) : "",
           step.peak_bytes < 0 ? "" : bytes_text(static_cast<std::uint64_t>(step.peak_bytes))});
    }
  }

  void devices() {
    if (report_.devices.empty()) return;
    head("Devices", {"device", "extent", "busy", "host wait", "kernel wait", "other"});
    for (const DeviceTime& device : report_.devices)
      row({std::to_string(device.device), duration_text(device.extent_ns()),
           duration_text(device.busy_ns), duration_text(device.idle_of(IdleCause::HostWait)),
           duration_text(device.idle_of(IdleCause::KernelWait)),
           duration_text(device.idle_of(IdleCause::Other))});
  }

  void names(std::string_view title, const std::vector<NameTime>& all) {
    if (all.empty()) return;
    head(title, {"name", "time", "times"});
    for (std::size_t i = 0; i < std::min(all.size(), kMostTableRows); ++i)
      row({all[i].name, duration_text(all[i].self_ns), count_text(all[i].count)});
  }

  const Report& report_;
  const std::string_view name_;
  Output& out_;
  int rank_ = 0;
};

}  // namespace

void write_report_markdown(const Report& report, std::string_view name, Output& out) {
  Markdown(report, name, out).write();
}

}  // namespace sonde::cli
