// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/waiting.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Less of the time is nothing to speak of.
constexpr double kLeastSlept = 0.2;
// Of time that nobody has to spend, most.
constexpr double kMostlySlept = 0.5;

// What Python functions that wait are called.
constexpr std::array<std::string_view, 10> kWaits = {
    "time.sleep",  "function sleep", "method acquire", "method accept", "method recv",
    "method poll", "select.select",  "threading.py",   "queue.py",      "selectors.py"};

bool names_a_wait(std::string_view name) {
  return std::any_of(kWaits.begin(), kWaits.end(), [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool trains(const Trace& trace) {
  const StringPool& strings = trace.strings();
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::string_view name = strings[StringId(i)];
    if (name.starts_with(kEvaluateFunction) || name.starts_with(kOptimizerPrefix)) return true;
  }
  for (const SpanId span : trace.all_spans())
    if (trace.spans().scope[span] == RecordScope::BackwardFunction) return true;
  return false;
}

// When other threads of the process worked and this one did not: it may have waited for them.
Nanos others_ns(const ReportData& data, TrackId thread) {
  const Coverage& all = data.all_operators(data.trace.tracks().process[thread]);
  return all.total_ns() - overlap_ns(all, data.in_operators(thread));
}

// How long the thread's marks for loading data last, which have a finding of their own.
Nanos loading_ns(const ReportData& data, TrackId thread) {
  Nanos sum_ns = 0;
  for (const SpanId span : data.loading)
    if (data.trace.spans().track[span] == thread)
      add_to(sum_ns, data.trace.spans().duration_ns[span]);
  return sum_ns;
}

}  // namespace

bool Waiting::is_promised() const {
  if (trains) return true;
  if (slept_ns < 0) return has_steps || is_named;
  return static_cast<double>(slept_ns) < kMostlySlept * static_cast<double>(whole_ns);
}

double Waiting::left() const {
  if (trains || slept_ns < 0 || whole_ns <= 0) return 0;
  return static_cast<double>(slept_ns) / static_cast<double>(whole_ns);
}

std::string Waiting::text() const {
  if (slept_ns < 0)
    return is_promised() ? ""
                         : " The trace does not show whether it computed something there or waited "
                           "for something to do.";
  if (static_cast<double>(slept_ns) < kLeastSlept * static_cast<double>(whole_ns)) return "";
  return format_text(" For up to {} of that it slept: it waited for {}.", duration_text(slept_ns),
                     trains ? "data, a file, a lock or another process"
                            : "something to do, such as a request, or for data, a file or a lock");
}

Waiting waiting_of(const ReportData& data, const Report& report, TrackId thread,
                   const Evidence& seen) {
  Waiting waiting{.whole_ns = seen.total_ns(),
                  .trains = trains(data.trace),
                  .has_steps = data.steady.rule == StepRule::Recorded ||
                               data.steady.rule == StepRule::Inferred};
  const double share = report.processor.slept_share(data.trace.tracks().id[thread]);
  if (share >= 0) {
    const auto slept_ns = static_cast<Nanos>(share * static_cast<double>(report.processor.wall_ns));
    // It may have slept while others worked, and while it waited for data.
    const Nanos elsewhere_ns = others_ns(data, thread) + loading_ns(data, thread);
    waiting.slept_ns = std::clamp<Nanos>(slept_ns - elsewhere_ns, 0, seen.total_ns());
  }
  waiting.is_named = seen.time_ns_of([](std::string_view) { return true; }) > seen.total_ns() / 2;
  const Nanos waits_ns = seen.time_ns_of(names_a_wait);
  if (waits_ns > 0) waiting.slept_ns = std::max(waiting.slept_ns, waits_ns);
  return waiting;
}

}  // namespace sonde::detail
