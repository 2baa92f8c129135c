// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/ledger.h"

#include <algorithm>

#include "analyse/time/recording_price.h"
#include "trace/lazy_trace.h"

namespace sonde {
namespace {

bool is_maximum(LedgerKind kind) {
  return kind == LedgerKind::ClockErrorNs || kind == LedgerKind::EventCostPs;
}

// What a path costs in halves of a warm scope, which is what the ledger's event is. Estimates from
// what recording added to three Python programs (bench/stated_cost.py). Most of an operator's cost
// is PyTorch's own, for calling a callback at all; for each gradient it also makes a name from the
// type of the gradient's function.
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

struct PathCounts {
  std::uint64_t operators = 0;
  std::uint64_t gradients = 0;  // those of them that are gradients
  std::uint64_t inputs = 0;
  std::uint64_t stacks = 0;
  std::uint64_t allocations = 0;
  std::uint64_t scopes = 0;
  std::uint64_t device_calls = 0;
  std::uint64_t python_calls = 0;
};

PathCounts count_paths(const Trace& trace) {
  PathCounts counts;
  // A recording that knows its numbers need not be decoded for them.
  if (const auto known = LazyTrace::operator_details(trace)) {
    const TraceCounts told = trace.counts();
    counts.inputs = known->inputs;
    counts.gradients = known->gradients;
    counts.stacks = known->stacks;
    counts.allocations = told.allocations;
    for (const auto& [kind, count] : told.spans_by_kind) {
      if (is_operator(kind)) counts.operators += count;
      if (is_host_annotation(kind)) counts.scopes += count;
      if (is_call(kind)) counts.device_calls += count;
      if (kind == SpanKind::PythonFunction) counts.python_calls += count;
    }
    return counts;
  }
  counts.allocations = trace.allocations().size();
  const SpanTable& spans = trace.spans();
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = spans.kind[span];
    if (is_operator(kind)) {
      ++counts.operators;
      counts.gradients += spans.scope[span] == RecordScope::BackwardFunction ? 1 : 0;
      counts.inputs += spans.arguments[span].valid() ? 1 : 0;
      counts.stacks += spans.stack[span].valid() ? 1 : 0;
    } else if (is_host_annotation(kind)) {
      ++counts.scopes;
    } else if (is_call(kind)) {
      ++counts.device_calls;
    } else if (kind == SpanKind::PythonFunction) {
      ++counts.python_calls;
    }
  }
  return counts;
}

void add_to_ledger(LedgerTotals& ledger, LedgerKind kind, std::uint64_t count,
                   std::string_view detail) {
  LedgerTotal& total = ledger[kind];
  total.count = is_maximum(kind) ? std::max(total.count, count) : total.count + count;
  const bool seen =
      std::find(total.details.begin(), total.details.end(), detail) != total.details.end();
  if (!detail.empty() && !seen) total.details.push_back(detail);
}

}  // namespace

LedgerClass ledger_class(LedgerKind kind) {
  switch (kind) {
    case LedgerKind::DroppedByBudget:
    case LedgerKind::DroppedInSignal:
    case LedgerKind::Overwritten:
    case LedgerKind::Unmatched:
    case LedgerKind::Uncorrelated:
    case LedgerKind::Undecodable:
    case LedgerKind::DamagedBytes:
    case LedgerKind::ChunksLost:
    case LedgerKind::SourceFailed:
    case LedgerKind::Unwritten:
    case LedgerKind::WorkMissing:
    case LedgerKind::TextsCut:
      return LedgerClass::Lost;
    case LedgerKind::Unfinished:
    case LedgerKind::Truncated:
      return LedgerClass::Incomplete;
    case LedgerKind::EventsWritten:
    case LedgerKind::ClockErrorNs:
    case LedgerKind::DrainerNs:
    case LedgerKind::EventCostPs:
      return LedgerClass::Cost;
    case LedgerKind::Note:
    case LedgerKind::Forked:
    case LedgerKind::NotCrashSafe:
    case LedgerKind::OutOfWindow:  // they were not wanted
      return LedgerClass::Remark;
  }
  return LedgerClass::Remark;  // from a later version
}

std::string_view ledger_phrase(LedgerKind kind) {
  switch (kind) {
    case LedgerKind::Note:
      return "remarks";
    case LedgerKind::EventsWritten:
      return "events written";
    case LedgerKind::DroppedByBudget:
      return "events dropped because the buffers were full";
    case LedgerKind::DroppedInSignal:
      return "events dropped in signal handlers";
    case LedgerKind::Overwritten:
      return "events overwritten by newer ones (flight recorder)";
    case LedgerKind::Unfinished:
      return "spans whose end was not seen";
    case LedgerKind::OutOfWindow:
      return "events outside all windows";
    case LedgerKind::Unmatched:
      return "ends without a beginning";
    case LedgerKind::Uncorrelated:
      return "kernels, copies or fills without the call that launched them";
    case LedgerKind::Undecodable:
      return "events or references that could not be decoded";
    case LedgerKind::DamagedBytes:
      return "bytes of the file that could not be read";
    case LedgerKind::ChunksLost:
      return "whole buffers lost";
    case LedgerKind::ClockErrorNs:
      return "ns by which a time may be off";
    case LedgerKind::DrainerNs:
      return "ns of CPU time to write the file";
    case LedgerKind::EventCostPs:
      return "ps to record one event";
    case LedgerKind::Forked:
      return "processes forked from a recorded one";
    case LedgerKind::NotCrashSafe:
      return "recordings that a crash would have truncated";
    case LedgerKind::SourceFailed:
      return "sources that could not be started";
    case LedgerKind::Truncated:
      return "truncated files";
    case LedgerKind::Unwritten:
      return "events that could not be written";
    case LedgerKind::WorkMissing:
      return "calls whose device work had not arrived yet";
    case LedgerKind::TextsCut:
      return "names and texts too long to be kept whole";
  }
  return "of a kind this version does not know";
}

LedgerTotals ledger_totals(const Trace& trace) {
  LedgerTotals totals;
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t row = 0; row < ledger.size(); ++row)
    add_to_ledger(totals, ledger.kind[row], ledger.count[row], trace.string(ledger.detail[row]));
  return totals;
}

bool has(const LedgerTotals& ledger, LedgerClass wanted) {
  return std::any_of(ledger.begin(), ledger.end(), [&](const auto& entry) {
    return ledger_class(entry.first) == wanted && entry.second.count > 0;
  });
}

std::uint64_t count_of(const LedgerTotals& ledger, LedgerKind kind) {
  const auto found = ledger.find(kind);
  return found == ledger.end() ? 0 : found->second.count;
}

namespace detail {

double recording_events(const Trace& trace, SpanId span, bool with_memory) {
  const SpanTable& spans = trace.spans();
  const SpanKind kind = spans.kind[span];
  if (is_call(kind)) return kDeviceCallEvents;
  if (kind == SpanKind::PythonFunction) return kPythonCallEvents;
  if (!is_operator(kind)) return is_host_annotation(kind) ? kScopeEvents : 0;
  const bool is_gradient = spans.scope[span] == RecordScope::BackwardFunction;
  double events = kOperatorEvents + (is_gradient ? kGradientEvents : 0);
  if (spans.stack[span].valid()) events += kStackEvents;
  if (!spans.arguments[span].valid()) return events;
  events += kInputsEvents + (is_gradient ? kGradientInputsEvents : 0);
  return events + (with_memory ? kTensorsEvents : 0);
}

double allocation_events() noexcept {
  return kAllocationEvents;
}

double event_ns(const Trace& trace) {
  return static_cast<double>(count_of(ledger_totals(trace), LedgerKind::EventCostPs)) / 1000.0;
}

}  // namespace detail

RecordingCost recording_cost(const Trace& trace) {
  RecordingCost cost;
  const LedgerTotals ledger = ledger_totals(trace);
  const double event_ns = detail::event_ns(trace);
  if (event_ns <= 0) return cost;
  const PathCounts counts = count_paths(trace);
  double total = 0;
  const auto add = [&](std::string_view what, std::uint64_t count, double events) {
    if (count == 0) return;
    cost.paths.push_back({what, count, events * event_ns});
    total += static_cast<double>(count) * events * event_ns;
  };
  add("operators", counts.operators, kOperatorEvents);
  add("gradients", counts.gradients, kGradientEvents);
  add("inputs of operators", counts.inputs, kInputsEvents);
  if (counts.inputs > 0) add("inputs of gradients", counts.gradients, kGradientInputsEvents);
  if (counts.allocations > 0) add("tensors of operators", counts.inputs, kTensorsEvents);
  add("stacks of operators", counts.stacks, kStackEvents);
  add("allocations and frees", counts.allocations, kAllocationEvents);
  add("scopes and ranges", counts.scopes, kScopeEvents);
  add("calls of a device's runtime", counts.device_calls, kDeviceCallEvents);
  add("calls of Python functions", counts.python_calls, kPythonCallEvents);
  if (cost.paths.empty()) add("events", count_of(ledger, LedgerKind::EventsWritten), 1);
  constexpr double kMost = 9e18;  // of a ledger that may say anything
  cost.total_ns = static_cast<Nanos>(std::min(total, kMost));
  return cost;
}

}  // namespace sonde
