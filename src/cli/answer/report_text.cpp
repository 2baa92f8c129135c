// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde report` as text.

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/readable.h"
#include "base/sum.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/answer/report.h"
#include "cli/print/text_lines.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kMostExamples = 3;
constexpr std::size_t kMostNames = 10;
constexpr std::size_t kMostSteps = 10;

std::string bytes_or_nothing(std::int64_t bytes) {
  return bytes < 0 ? "" : bytes_text(static_cast<std::uint64_t>(bytes));
}

// Breaks text at spaces into lines that fit. A longer word stays whole.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string& line = lines.back();
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.emplace_back(word);
    } else {
      line += (line.empty() ? "" : " ") + std::string(word);
    }
  }
  return lines;
}

class ReportText : TextLines {
 public:
  ReportText(const Report& report, std::string_view name, Output& out)
      : TextLines(out), report_(report), name_(name) {}

  void write() {
    head();
    findings();
    steps();
    devices();
    const std::string_view whole =
        report_.step_rule == StepRule::None ? "" : " (all of the recording, with its start)";
    names(format_text("Operators on the host, by self time{}", whole), report_.host.operators);
    if (report_.host.operators.empty())
      names(format_text("Scopes, by self time{}", whole), report_.host.scopes);
    names(format_text("Device work{}", whole), report_.device_work);
    kernel_limits();
    copies();
    missing();
  }

 private:
  void paragraph(std::string_view indent, std::string_view text) {
    for (const std::string& one : wrapped(readable_line(text), kWidth - indent.size()))
      line("{}{}", indent, one);
  }
  void warning(std::string_view text) {
    for (const std::string& one : wrapped(readable_line(text), kWidth - 2))
      out_.styled_line(Output::Style::Warning, "  " + one);
  }
  std::string share(Nanos part_ns, Nanos whole_ns) const {
    if (whole_ns <= 0) return {};
    return format_text("{:.1f} %",
                       100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns));
  }

  // Where the findings are corrected for what a profiler cost.
  std::string_view as_recorded() const {
    return report_.profiler_ns > 0 || report_.corrected_ns > 0 ? ", as recorded" : "";
  }

  void head() {
    line("{}", readable_line(name_));
    std::string facts = format_text(
        "  {} recorded, {}", duration_text(report_.trace.last_ns() - report_.trace.first_ns()),
        counted_text(report_.trace.spans().size(), "span"));
    if (!report_.steps.steps.empty())
      facts += format_text(", {} of {}", counted_text(report_.steps.steps.size(), "step"),
                           duration_text(report_.steps.median_ns));
    out_.line(facts);
    for (const std::string& one : sentences(report_.trace, report_.end)) warning(one);
    for (const std::string& one : trust_lines(report_)) paragraph("  ", one);
    for (const std::string& one : introduction(report_)) paragraph("  ", one);
    out_.line("");
    paragraph("", report_.verdict);
  }

  void findings() {
    if (report_.findings.empty()) {
      out_.line("\nNo findings: nothing that Sonde looks for would save 1 % of the time or more.");
      minor();
      return;
    }
    out_.line("\nFindings, with what a simulation saves if they are mended");
    std::size_t rank = 0;
    for (const Finding& finding : report_.findings) {
      out_.line("");
      out_.styled_line(Output::Style::Bold,
                       format_text("{:>3}. {} ({})", ++rank, readable_line(finding.title),
                                   saving_text(report_, finding)));
      paragraph("     ", finding.detail);
      paragraph("     ", finding.advice);
      line("     $ {}", readable_line(command_text(finding, name_)));
      for (std::size_t i = 0; i < std::min(finding.groups.size(), kMostExamples); ++i)
        line("     - {}", readable_line(shortened(group_text(finding.groups[i]))));
      if (!finding.moments.empty() && finding.count > 1)
        line("       {}", readable_line(shortened(moment_text(report_, finding.moments.front()))));
    }
    minor();
  }

  void minor() {
    if (report_.minor.empty()) return;
    std::string text = "Seen, but would save less than 1 %: ";
    for (std::size_t i = 0; i < report_.minor.size(); ++i)
      text += (i > 0 ? "; " : "") + report_.minor[i];
    out_.line("");
    paragraph("  ", text + ".");
  }

  static std::string shortened(const std::string& text) {
    if (text.size() <= kWidth - 8) return text;
    return std::string(first_whole(text, kWidth - 9)) + "…";
  }

  // Of many steps the slowest, in their order.
  static std::vector<std::size_t> slowest(const std::vector<StepTime>& steps) {
    std::vector<std::size_t> rows(steps.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    if (rows.size() <= kMostSteps) return rows;
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return steps[a].host_ns() > steps[b].host_ns();
    });
    rows.resize(kMostSteps);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  void steps() {
    const StepTimes& times = report_.steps;
    if (times.steps.empty()) return;
    const auto any = [&](auto has) {
      return std::any_of(times.steps.begin(), times.steps.end(), has);
    };
    const bool has_devices = any([](const StepTime& step) { return step.device_busy_ns >= 0; });
    const bool has_memory = any([](const StepTime& step) { return step.peak_bytes >= 0; });
    line("\n{:>8}{:>13}{:>14}{}{}  Steps{}", "step", "host", "in operators",
         has_devices ? format_text("{:>13}{:>13}{:>13}", "device busy", "device idle", "copies")
                     : "",
         has_memory ? format_text("{:>13}", "peak") : "", as_recorded());
    for (const std::size_t i : slowest(times.steps)) {
      const StepTime& step = times.steps[i];
      const auto device = [&](Nanos time_ns) {
        return !has_devices               ? ""
               : step.device_busy_ns >= 0 ? format_text("{:>13}", duration_text(time_ns))
                                          : std::string(13, ' ');
      };
      line("{:>8}{:>13}{:>14}{}{}{}{}{}{}", step.step, duration_text(step.host_ns()),
           duration_text(step.in_operators_ns), device(step.device_busy_ns),
           device(step.device_idle_ns), device(step.copies_ns),
           has_memory ? format_text("{:>13}", bytes_or_nothing(step.peak_bytes)) : "",
           step.why.empty() ? "" : "  ", step.why);
    }
    if (times.steps.size() > kMostSteps)
      line("  These are the slowest; {} more took less (--format json shows all)",
           count_text(times.steps.size() - kMostSteps));
    line("  median {}, mean {}, standard deviation {}, {}", duration_text(times.median_ns),
         duration_text(static_cast<Nanos>(times.mean_ns)),
         duration_text(static_cast<Nanos>(times.deviation_ns)),
         counted_text(times.outliers, "outlier"));
  }

  void devices() {
    for (const DeviceTime& device : report_.devices) {
      const auto row = [&](std::string_view what, Nanos time_ns) {
        if (time_ns > 0)
          line("  {:<38}{:>13}{:>9}", what, duration_text(time_ns),
               share(time_ns, device.extent_ns()));
      };
      line("\nDevice {}, from its first to its last work{}: {}", device.device, as_recorded(),
           duration_text(device.extent_ns()));
      row("busy", device.busy_ns);
      row("  compute", device.compute.union_ns);
      row("  communication", device.communication.union_ns);
      row("    overlapped by kernels", device.communication_hidden_ns);
      row("  copies and fills", device.memory.union_ns);
      row("    overlapped by kernels", device.memory_hidden_ns);
      row("  other work", device.other.union_ns);
      row("idle", device.idle_ns);
      row("  host wait", device.idle_of(IdleCause::HostWait));
      row("    the host was communicating", device.host_wait_of(HostDoing::Communicated));
      row("    the host returned from a wait", device.host_wait_of(HostDoing::HadWaited));
      row("    the host was inside operators", device.host_wait_of(HostDoing::InOperators));
      row("    the host was outside operators", device.host_wait_of(HostDoing::OutsideOperators));
      row("  kernel wait", device.idle_of(IdleCause::KernelWait));
      row("  other", device.idle_of(IdleCause::Other));
    }
  }

  void names(std::string_view title, const std::vector<NameTime>& all) {
    if (all.empty()) return;
    Nanos whole_ns = 0;
    for (const NameTime& one : all) detail::add_to(whole_ns, one.self_ns);
    line("\n{:>13}{:>9}{:>12}  {}", "time", "share", "times", title);
    for (std::size_t i = 0; i < std::min(all.size(), kMostNames); ++i)
      line("{:>13}{:>9}{:>12}  {}", duration_text(all[i].self_ns), share(all[i].self_ns, whole_ns),
           count_text(all[i].count), readable_line(first_whole(all[i].name, kWidth)));
  }

  // "458.1", "0.42"
  static std::string rate(double rate) {
    return rate <= 0 ? "" : rate < 10 ? format_text("{:.2f}", rate) : format_text("{:.0f}", rate);
  }
  static std::string percent(double part) {
    return part <= 0 ? "" : format_text("{:.1f} %", 100 * part);
  }

  void kernel_limits() {
    const KernelLimits& limits = report_.kernel_limits;
    if (limits.operators.empty()) return;
    line("\n{:>13}{:>11}{:>9}{:>9}{:>9}{:>12}  Kernels by what limits them, of operators", "time",
         "GFLOP/s", "of peak", "GB/s", "of peak", "limit");
    for (std::size_t i = 0; i < std::min(limits.operators.size(), kMostNames); ++i) {
      const OperatorLimit& one = limits.operators[i];
      line("{:>13}{:>11}{:>9}{:>9}{:>9}{:>12}  {} ({})", duration_text(one.time_ns),
           rate(one.operations_by_ns), percent(one.operations_share), rate(one.bytes_by_ns),
           percent(one.bytes_share), to_string(one.limit), readable_line(one.name),
           readable_line(one.type));
    }
    const DevicePeaks& peaks = limits.peaks;
    if (!peaks.is_known()) {
      if (!peaks.device.empty())
        paragraph("  ", format_text("The peaks of {} are not known to Sonde.", peaks.device));
      return;
    }
    paragraph("  ", format_text("Peaks assumed for {}: {:.0f} TFLOP/s with 32 bits{}, {:.0f} with "
                                "16 bits, {:.0f} GB/s. Bytes are those of inputs and, where their "
                                "size is known, of results, as if each was moved once and no "
                                "cache held it.",
                                peaks.device, peaks.float32 / 1000,
                                peaks.tf32 > 0 ? format_text(" ({:.0f} as TF32)", peaks.tf32 / 1000)
                                               : std::string(),
                                peaks.float16 / 1000, peaks.bytes));
  }

  void copies() {
    if (report_.copies.totals.empty()) return;
    line("\n{:>13}{:>12}{:>12}  Copies", "time", "bytes", "times");
    for (const CopyTotal& total : report_.copies.totals)
      line("{:>13}{:>12}{:>12}  {}", duration_text(total.device_ns), bytes_or_nothing(total.bytes),
           count_text(total.count), to_string(total));
  }

  void missing() {
    if (report_.missing.empty()) return;
    out_.line("\nNot checked, because the trace lacks the data");
    for (const std::string& one : report_.missing) paragraph("  ", one);
  }

  const Report& report_;
  const std::string_view name_;
};

}  // namespace

void write_report_text(const Report& report, std::string_view name, Output& out) {
  ReportText(report, name, out).write();
}

}  // namespace sonde::cli
