// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The steps of a program side by side: how long each took, where its time went, and which are
// outliers.
//
//   const StepTimes times = step_times(trace);
//   for (const StepTime& step : times.steps) std::cout << step.step << " " << step.host_ns();
//   if (times.outliers > 0) std::cout << "typical: " << times.median_ns;
//
// Device work belongs to the step during which it ran, whoever launched it. In a process with
// devices, busy + idle == host for every step.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

// How the steps of a program were found.
enum class StepRule : std::uint8_t {
  None,      // there are none
  Recorded,  // ProfilerStep#N and the like
  Inferred,  // the recorder recognised them by a range such as Optimizer.step#SGD.step
  Repeated,  // one thread repeats the same sequence of operators
};
std::string_view to_string(StepRule rule) noexcept;  // "none", "recorded", "inferred", …

struct StepTime {
  std::int64_t step = -1;
  SpanId span;
  ProcessId process;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  Nanos in_operators_ns = 0;  // in which some thread of its process was in operators or calls
  Nanos device_busy_ns = -1;  // in which some device of its process worked; -1: there is none
  Nanos device_idle_ns = -1;  // the rest of it
  Nanos copies_ns = 0;        // in which some copy or fill ran
  std::int64_t peak_bytes =
      -1;  // most live on one device, the host if there is no other; -1: not known
  bool is_outlier = false;
  std::string why;  // of an outlier: "aten::conv2d took 3.100 ms more than in step 4"

  Nanos host_ns() const noexcept { return end_ns - begin_ns; }
};

struct StepTimes {
  std::vector<StepTime> steps;  // by process and time
  Nanos total_ns = 0;
  Nanos least_ns = 0;
  Nanos median_ns = 0;
  Nanos most_ns = 0;
  double mean_ns = 0;
  double deviation_ns = 0;  // standard deviation
  std::size_t outliers = 0;
  Nanos outliers_excess_ns = 0;  // how much longer than the median outliers took
};

StepTimes step_times(const Trace& trace);

}  // namespace sonde
