// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What recording cost, by path.

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyse/time/recording_price.h"
#include "sonde/analyse/ledger.h"
#include "trace/lazy_trace.h"

namespace sonde {
namespace {

constexpr std::string_view kOperators = "operators";
constexpr std::string_view kGradients = "gradients";
constexpr std::string_view kInputs = "inputs of operators";
constexpr std::string_view kStacks = "stacks of operators";
constexpr std::string_view kAllocations = "allocations and frees";
constexpr std::string_view kPythonCalls = "calls of Python functions";

// Where a recording does not say what a path cost: halves of a warm scope, which is what the
// ledger's event is. Estimates from what recording added to three Python programs.
constexpr double kOperatorEvents = 12;
constexpr double kGradientEvents = 320;
constexpr double kInputsEvents = 15;
constexpr double kGradientInputsEvents = 140;
constexpr double kTensorsEvents = 4;  // which tensors the inputs are, if memory is recorded
constexpr double kStackEvents = 11;
constexpr double kAllocationEvents = 7;
constexpr double kScopeEvents = 2;
// A call of a device's runtime, with the records of what it launched: mostly CUPTI's own cost, from
// ten programs on an H200 (docs/overhead.md).
constexpr double kDeviceCallEvents = 90;
// A call of a Python function: mostly Python's own cost, for its profile hook
// (bench/python_stacks.py).
constexpr double kPythonCallEvents = 7.5;

// What sources measured has their paths as details, and comes from "source"
// (decode/device_facts.h).
bool is_of_path(const Trace& trace, std::size_t row, std::string_view path) {
  const LedgerTable& ledger = trace.ledger();
  if (path.empty()) return trace.string(ledger.source[row]) != "source";
  return trace.string(ledger.detail[row]) == path;
}

// Of half a scope if there is no path. In a trace of several processes the largest.
double measured_ns(const Trace& trace, std::string_view path = {}) {
  const LedgerTable& ledger = trace.ledger();
  std::uint64_t picoseconds = 0;
  for (std::size_t row = 0; row < ledger.size(); ++row)
    if (ledger.kind[row] == LedgerKind::EventCostPs && is_of_path(trace, row, path))
      picoseconds = std::max(picoseconds, ledger.count[row]);
  return static_cast<double>(picoseconds) / 1000;
}

struct PathCounts {
  std::uint64_t operators = 0;
  std::uint64_t gradients = 0;  // those of them that are gradients
  std::uint64_t inputs = 0;
  std::uint64_t stacks = 0;
  std::uint64_t allocations = 0;
  std::uint64_t scopes = 0;
  std::uint64_t python_calls = 0;
  std::uint64_t device_calls = 0;
};

PathCounts count_paths(const Trace& trace) {
  PathCounts counts;
  const auto add_spans = [&](SpanKind kind, std::uint64_t count) {
    if (is_operator(kind)) counts.operators += count;
    if (is_host_annotation(kind)) counts.scopes += count;
    if (kind == SpanKind::PythonFunction) counts.python_calls += count;
    if (is_call(kind)) counts.device_calls += count;
  };
  // A recording that knows its numbers need not be decoded for them.
  if (const auto known = LazyTrace::operator_details(trace)) {
    const TraceCounts told = trace.counts();
    counts.inputs = known->inputs;
    counts.gradients = known->gradients;
    counts.stacks = known->stacks;
    counts.allocations = told.allocations;
    for (const auto& [kind, count] : told.spans_by_kind) add_spans(kind, count);
    return counts;
  }
  counts.allocations = trace.allocations().size();
  const SpanTable& spans = trace.spans();
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = spans.kind[span];
    add_spans(kind, 1);
    if (!is_operator(kind)) continue;
    counts.gradients += spans.scope[span] == RecordScope::BackwardFunction ? 1 : 0;
    counts.inputs += spans.arguments[span].valid() ? 1 : 0;
    counts.stacks += spans.stack[span].valid() ? 1 : 0;
  }
  return counts;
}

}  // namespace

namespace detail {

RecordingPrices::RecordingPrices(const Trace& trace) {
  const double event_ns = measured_ns(trace);
  const auto price = [&](std::string_view path, double events) {
    const double measured = measured_ns(trace, path);
    return measured > 0 ? measured : events * event_ns;
  };
  const bool has_memory = trace.counts().allocations > 0;
  operator_ns = price(kOperators, kOperatorEvents);
  gradient_ns = price(kGradients, kGradientEvents);
  inputs_ns = price(kInputs, kInputsEvents + (has_memory ? kTensorsEvents : 0));
  if (measured_ns(trace, kInputs) <= 0) gradient_inputs_ns = kGradientInputsEvents * event_ns;
  stack_ns = price(kStacks, kStackEvents);
  allocation_ns = price(kAllocations, kAllocationEvents);
  scope_ns = kScopeEvents * event_ns;
  python_call_ns = kPythonCallEvents * event_ns;
  // Measured with calls that are followed, but not written down.
  if (const double followed_ns = measured_ns(trace, kPythonCalls); followed_ns > 0)
    python_call_ns = followed_ns + scope_ns;
  device_call_ns = kDeviceCallEvents * event_ns;
}

double RecordingPrices::of(const Trace& trace, SpanId span) const {
  const SpanTable& spans = trace.spans();
  const SpanKind kind = spans.kind[span];
  if (is_call(kind)) return device_call_ns;
  if (kind == SpanKind::PythonFunction) return python_call_ns;
  if (!is_operator(kind)) return is_host_annotation(kind) ? scope_ns : 0;
  const bool is_gradient = spans.scope[span] == RecordScope::BackwardFunction;
  double ns = operator_ns + (is_gradient ? gradient_ns : 0);
  if (spans.stack[span].valid()) ns += stack_ns;
  if (spans.arguments[span].valid()) ns += inputs_ns + (is_gradient ? gradient_inputs_ns : 0);
  return ns;
}

}  // namespace detail

RecordingCost recording_cost(const Trace& trace) {
  RecordingCost cost;
  const detail::RecordingPrices prices(trace);
  if (!prices.known()) return cost;
  const PathCounts counts = count_paths(trace);
  double total = 0;
  const auto add = [&](std::string_view what, std::uint64_t count, double each_ns) {
    if (count == 0 || each_ns <= 0) return;
    cost.paths.push_back({what, count, each_ns});
    total += static_cast<double>(count) * each_ns;
  };
  add(kOperators, counts.operators, prices.operator_ns);
  add(kGradients, counts.gradients, prices.gradient_ns);
  add(kInputs, counts.inputs, prices.inputs_ns);
  if (counts.inputs > 0) add("inputs of gradients", counts.gradients, prices.gradient_inputs_ns);
  add(kStacks, counts.stacks, prices.stack_ns);
  add(kAllocations, counts.allocations, prices.allocation_ns);
  add("scopes and ranges", counts.scopes, prices.scope_ns);
  add(kPythonCalls, counts.python_calls, prices.python_call_ns);
  add("calls of a device's runtime", counts.device_calls, prices.device_call_ns);
  if (cost.paths.empty()) {
    add("events", count_of(ledger_totals(trace), LedgerKind::EventsWritten), prices.scope_ns / 2);
  }
  constexpr double kMost = 9e18;  // of a ledger that may say anything
  cost.total_ns = static_cast<Nanos>(std::min(total, kMost));
  return cost;
}

}  // namespace sonde
