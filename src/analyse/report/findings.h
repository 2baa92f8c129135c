// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Each function examines one part of a report whose numbers are filled in, and adds to
// `report.findings`.

#include <string>
#include <utility>
#include <vector>

#include "analyse/report/report_data.h"
#include "sonde/analyse/report.h"

namespace sonde::detail {

void find_in_devices(const ReportData& data, Report& report);
void find_in_communication(const ReportData& data, Report& report);
void find_in_copies(const ReportData& data, Report& report);
void find_in_steps(const ReportData& data, Report& report);
void find_in_host(const ReportData& data, Report& report);
void find_in_memory(const ReportData& data, Report& report);
void find_in_operators(const ReportData& data, Report& report);
void find_patterns(const ReportData& data, Report& report);

// Whether it is at least 1 % of the measured time.
bool is_worth_saying(const Report& report, Nanos saving_ns);

// The spans with the largest values, largest first.
class WorstSpans {
 public:
  void add(Nanos time_ns, SpanId span) { all_.emplace_back(time_ns, span.value()); }
  std::size_t count() const { return all_.size(); }
  std::vector<SpanId> take();

 private:
  std::vector<std::pair<Nanos, std::uint32_t>> all_;
};

// "12 times", "once".
std::string times_text(std::uint64_t count);
// "12.3 %": the share of a part.
std::string share_text(Nanos part_ns, Nanos whole_ns);

}  // namespace sonde::detail
