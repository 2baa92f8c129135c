// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How much of a program ran in captured graphs, as `torch._dynamo.profiler` counts it: from spans
// named TORCHDYNAMO and the operators in and around them.
//
//   const dynamo::ProfileResult result = dynamo::profile_result(function_events(trace), 2);
//   std::cout << to_string(result) << "\n";
//   // prints " 2 graphs  4 graph calls   12/  20 =  60% ops  80% time"
//
// The rules are PyTorch's to the letter, with their oddities (docs/compatibility.md). For traces of
// torch.compile, TorchScript and CUDA graphs, and for shares that add up, use
// sonde/analyse/graphs.h. To record such spans, use sonde/profile/dynamo_profiler.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/events.h"

namespace sonde::dynamo {

// The name of a call of a captured graph.
inline constexpr std::string_view kRegionName = "TORCHDYNAMO";

// Amounts, or shares of other amounts, and therefore not integers.
struct ProfileMetrics {
  double microseconds = 0;
  double operators = 0;
  double fusions = 0;
  std::int64_t graphs = 0;

  // Graphs are not added: those of the left side stay.
  ProfileMetrics& operator+=(const ProfileMetrics& other) noexcept;
  // The result has no graphs.
  friend ProfileMetrics operator+(const ProfileMetrics& a, const ProfileMetrics& b) noexcept;
  // Divides by at least 1. The result has no graphs.
  friend ProfileMetrics operator/(const ProfileMetrics& a, const ProfileMetrics& b) noexcept;
  friend ProfileMetrics operator/(const ProfileMetrics& a, std::int64_t divisor) noexcept;

  // Operators and microseconds.
  std::vector<double> tocsv() const;
};
// For shares: " 60% ops  80% time".
std::string to_string(const ProfileMetrics& metrics);

struct ProfileResult {
  ProfileMetrics captured;
  ProfileMetrics total;
  std::int64_t unique_graphs = 0;

  ProfileResult& operator+=(const ProfileResult& other) noexcept;
  ProfileMetrics percent() const noexcept { return captured / total; }
  // Unique graphs, calls of graphs, captured and total operators, then the percentages.
  std::vector<double> tocsv() const;
};
std::string to_string(const ProfileResult& result);

// `unique_graphs` is how many different graphs were called, which a trace does not say.
ProfileResult profile_result(const EventList& events, std::int64_t unique_graphs);

// The operators that profile_result() found outside graphs, as indexes into the list.
std::vector<std::size_t> missing_ops(const EventList& events);
// The line that PyTorch prints for a stack; empty if it prints none.
std::string missing_line(const std::vector<std::string>& stack);
// The lines of all such operators, each once, in the order of the events.
std::vector<std::string> missing_lines(const EventList& events);

}  // namespace sonde::dynamo
