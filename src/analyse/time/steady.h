// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which part of a trace is the program's steady work: without its start, its first slow steps and
// its end.
//
//   const SteadyPart part = steady_part(trace, steps);
//   part.covers.within_ns(gap.begin_ns, gap.end_ns);

#include <cstddef>
#include <string>
#include <vector>

#include "analyse/time/coverage.h"
#include "sonde/analyse/steps.h"
#include "sonde/trace.h"

namespace sonde::detail {

struct SteadyPart {
  StepRule rule = StepRule::None;
  std::string inferred_from;      // the range that inferred steps were recognised by
  Coverage covers;                // the steady steps; everything if there are none
  std::size_t steps = 0;          // in it
  std::size_t warm_up_steps = 0;  // before it
  Nanos warm_up_ns = 0;
  Nanos start_ns = 0;  // from the beginning of the recording to the first step
  SpanId start_span;   // what took longest in that time
  Nanos step_ns = 0;   // the median of its steps

  bool has(Nanos time_ns) const { return covers.has(time_ns); }
};

// `main` is the thread that iterates, if there are no steps.
SteadyPart steady_part(const Trace& trace, const StepTimes& steps, TrackId main);

// How many of the first steps are slower than what comes after them.
std::size_t warm_up_steps(const std::vector<Nanos>& lengths);

// Stretches in which one thread repeats the same sequence of operators; empty: it does not. A loop
// of one to three operators may be within the program's own, and only shows where work is steady.
enum class Loops { Whole, AlsoShort };
std::vector<Coverage::Stretch> iterations(const Trace& trace, TrackId thread,
                                          Loops wanted = Loops::Whole);

}  // namespace sonde::detail
