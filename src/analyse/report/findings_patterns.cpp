// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// PyTorch's anti-patterns, with what mending them would save.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/time/launches.h"
#include "base/format.h"
#include "base/text.h"
#include "sonde/analyse/patterns.h"

namespace sonde::detail {
namespace {

// How much of the time of a product of 16-bit floats is left if its sizes become multiples of
// eight: assumed. With an odd size, memory is read number by number.
constexpr double kLeftIfPadded = 0.7;
constexpr double kLeftIfOdd = 1.0 / 3;
constexpr double kLeftIfOddFrom9 = 1.0 / 5;  // whose quickest kernels need aligned rows

// Whether more recording would help: patterns are of operators, some of them of a device's.
bool could_be_looked_for(const Report& report, Pattern pattern) {
  if (report.host.operators.empty()) return false;
  const bool is_of_device = pattern == Pattern::Fp32MatMul || pattern == Pattern::MatMulDimInFp16 ||
                            pattern == Pattern::ExtraCudaCopy;
  return !is_of_device || !report.devices.empty();
}

// What would help: with inputs, operators show these without the calls that PyTorch's rule needs.
std::string what_is_missing(const PatternMatches& found) {
  const bool needs_inputs =
      found.pattern == Pattern::ExtraCudaCopy || found.pattern == Pattern::Conv2dBiasBatchNorm;
  return needs_inputs ? "the trace does not show the inputs of operators (record it with shapes)"
                      : found.missing;
}

// Patterns that operators alone show (findings_operators.cpp), as far as they can be found.
// PyTorch marks the calls of its loaders.
bool is_looked_for_in_operators(const Trace& trace, Pattern pattern) {
  switch (pattern) {
    case Pattern::ForLoopIndexing:
    case Pattern::OptimizerSingleTensor:
    case Pattern::GradientNotSetToNone:
    case Pattern::SynchronizedDataLoader:
      return true;
    case Pattern::ExtraCudaCopy:
    case Pattern::Conv2dBiasBatchNorm:
      return !trace.op_arguments().empty();
    case Pattern::Fp32MatMul:
    case Pattern::MatMulDimInFp16:
      break;
  }
  return false;
}

class PatternChanges {
 public:
  explicit PatternChanges(const ReportData& data)
      : trace_(data.trace), launches_(data.program().launches()) {}

  // What mending a match changes; false if nothing is known to.
  bool apply(Pattern pattern, SpanId span, Changes& changes) const {
    switch (pattern) {
      case Pattern::ExtraCudaCopy:
        changes.remove(span);
        return true;
      case Pattern::Fp32MatMul:
        return scale_work(span, left_on_tensor_cores(trace_), changes);
      case Pattern::MatMulDimInFp16:
        return scale_work(span, left_if_padded(span), changes);
      case Pattern::GradientNotSetToNone:
        return remove_below(span, "aten::zero_", changes);
      case Pattern::Conv2dBiasBatchNorm:
        return remove_below(span, "aten::add_", changes);
      case Pattern::ForLoopIndexing:         // findings_operators.cpp knows small operators
      case Pattern::OptimizerSingleTensor:   // … and what launches
      case Pattern::SynchronizedDataLoader:  // findings_host.cpp knows what loading hides
        break;
    }
    return false;
  }

 private:
  bool scale_work(SpanId span, double left, Changes& changes) const {
    const std::span<const Launch> work = launches_.below(span);
    for (const Launch& launch : work)
      if (trace_.spans().duration_ns[launch.work] >= kShortestProductNs)
        changes.scale(launch.work, left);
    return !work.empty();
  }
  double left_if_padded(SpanId span) const {
    if (!has_odd_size(span)) return kLeftIfPadded;
    for (std::size_t i = 0; i < trace_.devices().size(); ++i)
      if (trace_.devices().compute_major[i] >= 9) return kLeftIfOddFrom9;
    return kLeftIfOdd;
  }
  // Whether a matrix of the product has an odd number of rows or columns.
  bool has_odd_size(SpanId span) const {
    const OpArgumentTable& table = trace_.op_arguments();
    for (const OpArgumentId argument : trace_.arguments(span)) {
      if (table.kind[argument] != ArgumentKind::Tensor) continue;
      for (std::int32_t i = 0; i < table.dims_count[argument]; ++i) {
        const DimId dim(table.dims_first[argument].value() + static_cast<std::uint32_t>(i));
        if (trace_.dims().value[dim] % 2 != 0 && trace_.dims().value[dim] > 1) return true;
      }
    }
    return false;
  }
  bool remove_below(SpanId span, std::string_view name, Changes& changes) const {
    bool found = false;
    const std::uint32_t end = rows_end(trace_, span);
    for (std::uint32_t row = span.value() + 1; row < end; ++row) {
      if (trace_.name(SpanId(row)) != name) continue;
      changes.remove(SpanId(row));
      found = true;
    }
    return found;
  }

  const Trace& trace_;
  const Launches& launches_;
};

std::string assumption(Pattern pattern) {
  if (pattern == Pattern::Fp32MatMul)
    return " The saving assumes products on tensor cores, in a fifth to half of the time.";
  if (pattern == Pattern::MatMulDimInFp16)
    return " The saving assumes that padded products take 30 % less, or a third to a fifth of the "
           "time if "
           "a size was odd.";
  return "";
}

void say_pattern(const ReportData& data, Report& report, const PatternMatches& found) {
  const PatternChanges mend(data);
  Evidence seen(data);
  Changes changes(data.program());
  const SpanTable& spans = report.trace.spans();
  for (const SpanId span : found.spans) {
    if (!data.steady.has(spans.start_ns[span]) || !mend.apply(found.pattern, span, changes))
      continue;
    seen.add(span, spans.track[span], spans.start_ns[span], report.trace.end_ns(span));
  }
  if (seen.empty()) return;
  add_simulated(data, report,
                {.id = std::string(id(found.pattern)),
                 .title = std::string(torch_name(found.pattern)),
                 .detail = format_text("PyTorch's pattern was found {}.{}",
                                       times_text(seen.count()), assumption(found.pattern)),
                 .advice = std::string(advice(found.pattern)),
                 .command = "sonde table TRACE --sort-by count"},
                seen, std::min(found.saving_ns, report.measured_ns), changes);
}

}  // namespace

void find_patterns(const ReportData& data, Report& report) {
  const auto is_told = [&](Pattern pattern) {
    return std::any_of(report.findings.begin(), report.findings.end(),
                       [&](const Finding& finding) { return finding.id == id(pattern); });
  };
  std::map<std::string, std::string> missing;  // by reason
  for (const PatternMatches& found : match_patterns(report.trace)) {
    if (!found.missing.empty() && could_be_looked_for(report, found.pattern) &&
        !is_looked_for_in_operators(report.trace, found.pattern) && !is_told(found.pattern)) {
      std::string& names = missing[what_is_missing(found)];
      names += (names.empty() ? "" : ", ") + std::string(torch_name(found.pattern));
    }
    if (!found.spans.empty()) say_pattern(data, report, found);
  }
  for (const auto& [reason, names] : missing)
    report.missing.push_back(format_text("{}: {}", names, reason));
}

}  // namespace sonde::detail
