// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Each function examines one part of a report whose numbers are filled in, and adds to
// `report.findings`.

#include <algorithm>
#include <string>
#include <vector>

#include "analyse/report/evidence.h"
#include "analyse/report/report_data.h"
#include "analyse/simulate/program.h"
#include "sonde/analyse/report.h"

namespace sonde::detail {

void find_in_devices(const ReportData& data, Report& report);
void find_idle_hosts(const ReportData& data, Report& report);
void find_in_communication(const ReportData& data, Report& report);
void find_in_copies(const ReportData& data, Report& report);
void find_in_steps(const ReportData& data, Report& report);
void find_in_host(const ReportData& data, Report& report);
void find_outside_operators(const ReportData& data, Report& report);
void find_in_products(const ReportData& data, Report& report);
void find_in_scheduling(const ReportData& data, Report& report);
void find_in_memory(const ReportData& data, Report& report);
void find_in_kernels(const ReportData& data, Report& report);
void find_in_operators(const ReportData& data, Report& report);
void find_patterns(const ReportData& data, Report& report);

// Copies of data that seem to have left the device and come back.
std::vector<CopyTime> round_trips(const ReportData& data, const Report& report);
// When their data was on the host.
Coverage between_round_trips(const ReportData& data, const Report& report);

// The steady steps that take much longer than the others; none if many do.
std::vector<const StepTime*> slow_steps(const ReportData& data, const Report& report);

// Threads that waited less than this share of the time for a core were not held up by it.
inline constexpr double kLeastWaitedForCores = 0.1;

// Shorter products are not limited by their arithmetic.
inline constexpr Nanos kShortestProductNs = 10'000;

// What tensor cores leave of the time of products of 32-bit floats on the ordinary units: a fifth
// on devices for data centres (A100, H100, B200), half on others, whose tensor cores are smaller.
double left_on_tensor_cores(const Trace& trace);
// The same of one kernel.
double left_on_tensor_cores(const Trace& trace, SpanId kernel, double left);

// Whether more threads of the program wanted to run than there are cores.
bool threads_fight(const ProcessorTime& time);

// Whether it is at least 1 % of the measured time.
bool is_worth_saying(const Report& report, Nanos saving_ns);

// Adds a finding with what a simulation of the changes saves, and its evidence. Of what would save
// less than 1 % only the title is kept. Simulates only if the bound is worth it.
void add_simulated(const ReportData& data, Report& report, Finding finding, Evidence& seen,
                   Nanos at_most_ns, const Changes& changes);
// The same where the saving is known without a simulation.
void add_known(Report& report, Finding finding, Evidence& seen, Nanos at_most_ns, Nanos saving_ns);

// Calls visit(begin, end) for each part of the time that is covered, or that is not.
template <typename Visit>
void for_covered(const Coverage& coverage, Nanos from_ns, Nanos to_ns, Visit visit) {
  const auto& all = coverage.stretches();
  auto at = std::upper_bound(
      all.begin(), all.end(), from_ns,
      [](Nanos time, const Coverage::Stretch& stretch) { return time < stretch.end_ns; });
  for (; at != all.end() && at->begin_ns < to_ns; ++at)
    visit(std::max(from_ns, at->begin_ns), std::min(to_ns, at->end_ns));
}
template <typename Visit>
void for_uncovered(const Coverage& coverage, Nanos from_ns, Nanos to_ns, Visit visit) {
  Nanos at_ns = from_ns;
  for_covered(coverage, from_ns, to_ns, [&](Nanos begin_ns, Nanos end_ns) {
    if (begin_ns > at_ns) visit(at_ns, begin_ns);
    at_ns = end_ns;
  });
  if (at_ns < to_ns) visit(at_ns, to_ns);
}

// How much of the steady time in which only `moving` ran could run beside `computing` instead: at
// most as long as that ran alone.
double could_overlap(const ReportData& data, const Coverage& moving, const Coverage& computing);

// "12 times", "once".
std::string times_text(std::uint64_t count);
// "12.3 %": the share of a part.
std::string share_text(Nanos part_ns, Nanos whole_ns);

}  // namespace sonde::detail
