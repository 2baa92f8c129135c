// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Whether a thread that ran no operator computed something else, or slept: for a request, for data,
// for a lock.
//
//   const Waiting waiting = waiting_of(data, report, thread, seen);
//   if (!waiting.is_promised()) …      // a server that waits for requests has nothing to mend
//   finding.detail += waiting.text();

#include <string>

#include "analyse/report/evidence.h"
#include "analyse/report/report_data.h"
#include "sonde/analyse/report.h"

namespace sonde::detail {

struct Waiting {
  Nanos whole_ns = 0;   // of the time that was seen
  Nanos slept_ns = -1;  // of that, at most; negative: not known
  bool trains = false;  // steps should follow each other: what they wait for is worth a finding
  bool has_steps = false;
  bool is_named = false;  // the trace says what most of the time was spent in

  // Whether the time would be saved by a program that does not spend it. Otherwise it is time in
  // which nothing had to be done, as far as the trace shows.
  bool is_promised() const;
  // The part of the time that mending leaves.
  double left() const;
  // A sentence with a space in front; empty if there is nothing to say.
  std::string text() const;
};

Waiting waiting_of(const ReportData& data, const Report& report, TrackId thread,
                   const Evidence& seen);

}  // namespace sonde::detail
