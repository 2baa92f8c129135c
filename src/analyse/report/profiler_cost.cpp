// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/profiler_cost.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/time/recording_price.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

// Estimates of what torch 2.11's profiler adds to a program, by the clock. Operators and Python
// calls follow measurements of a transformer on an H200 over 60 steps (12.0 ms a step alone, 21.6
// with operators, 24.4 with stacks); the rest is assumed.
constexpr Nanos kOperatorNs = 5'000;
constexpr Nanos kShapesNs = 1'000;      // more, for an operator with its inputs
constexpr Nanos kPythonCallNs = 1'400;  // call and return
constexpr Nanos kAllocationNs = 500;
constexpr Nanos kDeviceCallNs = 1'000;
// A recording costs more at its beginning, while the profiler's buffers and code are new to the
// processor: two steps with all options took 37 ms each instead of 9.
constexpr std::uint64_t kColdEvents = 20'000;
constexpr double kColdFactor = 2.5;

constexpr std::array<std::string_view, 4> kCostly = {"with_stack", "record_shapes",
                                                     "profile_memory", "with_modules"};

bool is_set(const Trace& trace, std::string_view key) {
  const MetadataTable& metadata = trace.metadata();
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (trace.string(metadata.key[i]) != key) continue;
    const std::string_view value = trace.string(metadata.value[i]);
    return value == "1" || value == "true";
  }
  return false;
}

// With fewer of them it is unclear what is usual.
constexpr std::size_t kLeastGaps = 16;
constexpr double kUsualGaps = 0.9;  // the rest has other reasons

// The mean without the largest.
double usual_ns(std::vector<Nanos>& gaps) {
  const auto count = static_cast<std::ptrdiff_t>(kUsualGaps * static_cast<double>(gaps.size()));
  std::nth_element(gaps.begin(), gaps.begin() + count, gaps.end());
  double sum = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i)
    sum += static_cast<double>(gaps[static_cast<std::size_t>(i)]);
  return sum / static_cast<double>(count);
}

// At most what an operator can have cost. PyTorch's profiler works before it notes an operator's
// begin, and after it has noted its end: where one operator calls another, that lies between the
// two begins and between the two ends.
double most_for_operator_ns(const Trace& trace) {
  const SpanTable& spans = trace.spans();
  std::vector<Nanos> begins;   // from the begin of an operator to that of the first inside it
  std::vector<Nanos> ends;     // from the end of the last inside it to its own
  std::vector<Nanos> between;  // from the end of one to the begin of the next
  SpanId last;
  for (const SpanId op : trace.all_spans()) {
    if (spans.kind[op] != SpanKind::CpuOp || (spans.flags[op] & SpanFlags::kAsync) != 0) continue;
    const SpanId before = std::exchange(last, op);
    if (!before.valid() || spans.track[before] != spans.track[op]) continue;
    if (trace.end_ns(before) > spans.start_ns[op]) {
      begins.push_back(spans.start_ns[op] - spans.start_ns[before]);
      continue;
    }
    between.push_back(spans.start_ns[op] - trace.end_ns(before));
    const SpanId parent = spans.parent[before];
    const bool is_last = parent.valid() && spans.kind[parent] == SpanKind::CpuOp &&
                         trace.end_ns(parent) <= spans.start_ns[op];
    if (is_last) ends.push_back(trace.end_ns(parent) - trace.end_ns(before));
  }
  if (begins.size() >= kLeastGaps && ends.size() >= kLeastGaps)
    return usual_ns(begins) + usual_ns(ends);
  if (between.size() >= kLeastGaps) return usual_ns(between);
  return std::numeric_limits<double>::infinity();
}

// PyTorch's profiler says so in its file; Sonde's ledger says what Sonde cost.
bool is_of_pytorch(const Trace& trace) {
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i)
    if (ledger.kind[i] == LedgerKind::EventsWritten) return false;
  const MetadataTable& metadata = trace.metadata();
  for (std::size_t i = 0; i < metadata.size(); ++i)
    if (trace.string(metadata.key[i]) == "schemaVersion") return true;
  return false;
}

}  // namespace

Nanos own_cost_ns(const Trace& trace, const SteadyPart& steady) {
  const RecordingPrices prices(trace);
  if (!prices.known()) return 0;
  const AllocationTable& allocations = trace.allocations();
  CoverageCursor in_steady(steady.covers);
  double ns = 0;
  for (const SpanId span : trace.all_spans())
    if (in_steady.has(trace.spans().start_ns[span])) ns += prices.of(trace, span);
  for (std::size_t i = 0; i < allocations.size(); ++i)
    if (in_steady.has(allocations.time_ns[i])) ns += prices.allocation_ns;
  return static_cast<Nanos>(std::min(ns, 9e18));
}

ProfilerCost profiler_cost(const Trace& trace, const SteadyPart& steady) {
  ProfilerCost cost;
  if (!is_of_pytorch(trace)) return cost;
  for (const std::string_view option : kCostly)
    if (is_set(trace, option)) cost.options.emplace_back(option);
  const Nanos operator_ns = kOperatorNs + (is_set(trace, "record_shapes") ? kShapesNs : 0);
  const SpanTable& spans = trace.spans();
  CoverageCursor in_steady(steady.covers);
  std::uint64_t events = 0;
  std::uint64_t operators = 0;  // in the steady part
  Nanos others_ns = 0;
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = spans.kind[span];
    const Nanos each_ns = is_operator(kind)                  ? operator_ns
                          : kind == SpanKind::PythonFunction ? kPythonCallNs
                          : is_call(kind)                    ? kDeviceCallNs
                                                             : 0;
    if (each_ns == 0) continue;
    ++events;
    if (!in_steady.has(spans.start_ns[span])) continue;
    if (is_operator(kind)) {
      ++operators;
    } else {
      add_to(others_ns, each_ns);
    }
  }
  const AllocationTable& allocations = trace.allocations();
  for (std::size_t i = 0; i < allocations.size(); ++i)
    if (in_steady.has(allocations.time_ns[i])) add_to(others_ns, kAllocationNs);
  const double cold =
      events > kColdEvents ? static_cast<double>(kColdEvents) / static_cast<double>(events) : 1;
  const double factor = 1 + (kColdFactor - 1) * cold;
  const double each_ns =
      std::min(factor * static_cast<double>(operator_ns), most_for_operator_ns(trace));
  cost.time_ns = static_cast<Nanos>(std::min(
      each_ns * static_cast<double>(operators) + factor * static_cast<double>(others_ns), 9e18));
  return cost;
}

}  // namespace sonde::detail
