// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Time in which a program without devices ran no operator.

#include <algorithm>
#include <utility>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/report/waiting.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

// Shorter gaps between operators are just the cost of calling them.
constexpr Nanos kShortestStretchNs = 100'000;

// When some thread of the process was in an operator, or loaded data, which has a finding of its
// own. It is kept in `made` if it has to be made.
const Coverage& busy_of(const ReportData& data, ProcessId process, Coverage& made) {
  if (data.loading.empty()) return data.all_operators(process);
  Stretches all = data.operators_of(process);
  for (const SpanId span : data.loading)
    all.add(data.trace.spans().start_ns[span], data.trace.end_ns(span));
  made = all.united();
  return made;
}

// Calls visit(begin, end) for each stretch between operators in the part that findings are about.
// Without steps it begins with the first operator and ends with the last.
template <typename Visit>
void for_stretches(const ReportData& data, const Coverage& busy, Visit visit) {
  const Nanos first_ns = busy.stretches().front().begin_ns;
  const Nanos last_ns = busy.stretches().back().end_ns;
  const bool has_steps = data.steady.rule != StepRule::None;
  for (const Coverage::Stretch& step : data.usual.stretches()) {
    const Nanos from_ns = has_steps ? step.begin_ns : std::max(step.begin_ns, first_ns);
    const Nanos to_ns = has_steps ? step.end_ns : std::min(step.end_ns, last_ns);
    for_uncovered(busy, from_ns, to_ns, [&](Nanos begin_ns, Nanos end_ns) {
      if (end_ns - begin_ns >= kShortestStretchNs) visit(begin_ns, end_ns);
    });
  }
}

// Which part of these stretches the thread waited for a core. A wait makes a stretch of any gap in
// which it falls, so all time between operators counts.
double waited_share(const ReportData& data, const Report& report, const Coverage& busy,
                    const Evidence& seen) {
  Nanos between_ns = 0;
  Nanos whole_ns = 0;
  for (const Coverage::Stretch& step : data.usual.stretches()) {
    add_to(whole_ns, step.end_ns - step.begin_ns);
    add_to(between_ns, step.end_ns - step.begin_ns - busy.within_ns(step.begin_ns, step.end_ns));
  }
  if (whole_ns <= 0) return 0;
  const double waited_ns = report.processor.waited_share() * static_cast<double>(between_ns);
  const double found_ns = static_cast<double>(seen.total_ns());
  return std::clamp(waited_ns / found_ns, report.processor.waited_share(), 1.0);
}

// From here on it is said.
constexpr double kMuchWaited = 0.1;

constexpr const char* kOutsideAdvice =
    "See what the program does there; where that has no name, mark it (SONDE_SCOPE, "
    "record_function) and record again. Loading data, file access, logging and the like can often "
    "run in parallel.";
constexpr const char* kWaitingAdvice =
    "If the program is a server, it had nothing to do. Otherwise see what it waits for, and mark "
    "that (SONDE_SCOPE, record_function).";

}  // namespace

void find_outside_operators(const ReportData& data, Report& report) {
  const TrackId main = data.program().main_thread();
  if (!report.devices.empty() || !main.valid()) return;
  Coverage made;
  const Coverage& busy = busy_of(data, data.trace.tracks().process[main], made);
  if (busy.empty() || report.host.operators.empty()) return;
  Evidence seen(data);
  for_stretches(data, busy, [&](Nanos begin_ns, Nanos end_ns) {
    seen.add(innermost_at(data.trace, main, begin_ns + (end_ns - begin_ns) / 2), main, begin_ns,
             end_ns);
  });
  if (seen.empty()) return;
  const Waiting waiting = waiting_of(data, report, main, seen);
  const double waited = waited_share(data, report, busy, seen);
  Finding finding{
      .id = "outside_operators",
      .title = "The program spends time outside operators",
      .detail = format_text(
          "For 0.1 ms or longer at a time, no thread ran an operator: {}.{}{}", seen.lengths(),
          waiting.text(),
          waited >= kMuchWaited ? " The machine was busy: part of it was waiting for a core." : ""),
      .advice = waiting.is_promised() ? kOutsideAdvice : kWaitingAdvice,
      .command = "sonde critical-path TRACE"};
  if (!waiting.is_promised())
    return add_known(report, std::move(finding), seen, seen.total_ns(), 0);
  Changes changes(data.program());
  for_stretches(data, busy, [&](Nanos begin_ns, Nanos end_ns) {
    // Waiting for a core stays.
    changes.cut(main, begin_ns, end_ns, std::max(waited, waiting.left()));
  });
  add_simulated(data, report, std::move(finding), seen, seen.total_ns(), changes);
}

}  // namespace sonde::detail
