// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a report says in words, whichever way it is shown.

#include <string>
#include <vector>

#include "analyse/report/evidence.h"
#include "base/format.h"
#include "base/text.h"
#include "sonde/analyse/report.h"

namespace sonde {
namespace {

// Less is lost in everything else.
constexpr double kLeastWaited = 0.05;

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

void add_profiler(const Report& report, std::vector<std::string>& lines) {
  if (report.corrected_ns > 0)
    lines.push_back(format_text(
        "Recording cost about {} of the time that findings are about. Savings and percentages are "
        "corrected for that.",
        rough_duration_text(report.corrected_ns)));
  if (report.profiler_ns <= 0) return;
  lines.push_back(format_text(
      "The profiler that wrote this trace slowed the program down by roughly {}, judging by the "
      "number of its events{}. Savings and percentages are corrected for that.",
      rough_duration_text(report.profiler_ns),
      report.profiler_options.empty()
          ? ""
          : " (it was asked for " + joined(report.profiler_options) + ")"));
}

// Another program needed the cores, or this one has too many threads.
void add_processor(const ProcessorTime& time, std::vector<std::string>& lines) {
  if (!time.is_known() || time.waited_share() < kLeastWaited) return;
  lines.push_back(format_text(
      "The machine was busy: the program's threads ran for {} and waited {} for a free core, "
      "{:.0f} % "
      "of the time in which they wanted to run. Times are longer by that, wherever it fell.",
      duration_text(time.ran_ns), duration_text(time.waited_ns), 100 * time.waited_share()));
}

}  // namespace

std::vector<std::string> introduction(const Report& report) {
  std::vector<std::string> lines;
  add_processor(report.processor, lines);
  add_profiler(report, lines);
  if (report.step_rule == StepRule::None) return lines;
  std::string text;
  if (report.step_rule == StepRule::Recorded)
    text = format_text("Findings are about {}", counted_text(report.steady_steps, "recorded step"));
  else if (report.step_rule == StepRule::Inferred)
    text = format_text(
        "The program marks no steps; each call of {} counts as the end of one. Findings "
        "are about {}",
        report.steps_inferred_from, counted_text(report.steady_steps, "step"));
  else
    text =
        format_text("No steps were recorded, but the same operators repeat: findings are about {}",
                    counted_text(report.steady_steps, "iteration"));
  text += format_text(", {} in total", duration_text(report.measured_ns));
  if (report.warm_up_steps > 0)
    text += format_text(", without {} of warm-up ({})", counted_text(report.warm_up_steps, "step"),
                        duration_text(report.warm_up_ns));
  lines.push_back(text + ".");
  if (!report.other_optimisers.empty())
    lines.push_back(format_text(
        "The program has other optimisers ({}): one iteration may be several of these steps.",
        report.other_optimisers));
  const bool is_long = report.start_ns > report.measured_ns / 10;
  if (is_long)
    lines.push_back(
        format_text("Start: {} until the first step{}.", duration_text(report.start_ns),
                    report.start_reason.empty() ? "" : "; most of it in " + report.start_reason));
  return lines;
}

std::string saving_text(const Report& report, const Finding& finding) {
  const auto share = [&](Nanos part_ns) {
    return report.measured_ns > 0
               ? format_text("{:.1f} %", 100.0 * static_cast<double>(part_ns) /
                                             static_cast<double>(report.measured_ns))
               : std::string("0 %");
  };
  if (finding.saving_ns <= 0) {
    return finding.at_most_ns > 0
               ? format_text("good to know; it takes {}, {}", duration_text(finding.at_most_ns),
                             share(finding.at_most_ns))
               : "good to know";
  }
  std::string saves =
      format_text("saves about {}, {}", duration_text(finding.saving_ns), share(finding.saving_ns));
  if (finding.at_most_ns <= finding.saving_ns) return saves;
  return saves + format_text("; at most {}, {}", duration_text(finding.at_most_ns),
                             share(finding.at_most_ns));
}

std::string group_text(const FindingGroup& group) {
  return format_text("{}, {}: {}{}", duration_text(group.time_ns),
                     group.count == 1 ? "once" : count_text(group.count) + " times", group.name,
                     group.place.empty() ? "" : " (" + group.place + ")");
}

std::string moment_text(const Report& report, const FindingMoment& moment) {
  return format_text("worst at {}: {}{}{}",
                     duration_text(moment.begin_ns - report.trace.first_ns()),
                     duration_text(moment.end_ns - moment.begin_ns),
                     moment.what == detail::kOutsideSpans ? " " : " in ", moment.what);
}

}  // namespace sonde
