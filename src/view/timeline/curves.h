// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Values over time, drawn above the tracks on the same axis: memory by category, how busy a device
// is, how much work waits for it, and the program's counters.
//
//   for (const Curve& curve : curves(trace)) … curve.name, curve.series
//   const std::vector<float> values = curve_values(answers, curve, from, to, 800);

#include <cstdint>
#include <string>
#include <vector>

#include "view/timeline/trace_answers.h"

namespace sonde::detail {

enum class CurveKind : std::uint8_t { Memory, Busy, Queue, Counter };

struct Curve {
  CurveKind kind = CurveKind::Counter;
  std::string name;                 // "cuda:0 memory"
  std::string unit;                 // "bytes", "%", ""
  std::vector<std::string> series;  // which the page stacks, unless it is one
  ProcessId process;
  std::int32_t device = -1;
  MemoryDevice memory;
  StringId counter;
  StringId counter_series;
  TrackId track;
};

// Those that the trace has values for, without computing them.
std::vector<Curve> curves(const Trace& trace);

// For `buckets` equal parts of [from, to): the values of each series one after the other. Of memory
// and counters, the moment with the largest sum; of Busy, the part of the time; of Queue, the most.
// NaN: nothing is known.
std::vector<float> curve_values(const TraceAnswers& answers, const Curve& curve, Nanos from,
                                Nanos to, std::uint32_t buckets);

// The idle intervals of the curve's device that are longer than a bucket, as JSON.
std::string gaps_json(const TraceAnswers& answers, const Curve& curve, Nanos from, Nanos to,
                      std::uint32_t buckets);

}  // namespace sonde::detail
