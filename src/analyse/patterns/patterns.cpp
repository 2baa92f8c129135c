// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/patterns.h"

#include <algorithm>
#include <string>

#include "analyse/patterns/rules.h"
#include "analyse/patterns/savings.h"
#include "analyse/patterns/tree.h"
#include "analyse/time/launches.h"

namespace sonde {
namespace detail {
namespace {

constexpr std::string_view kNoShapes =
    "the trace does not show the inputs of operators (record it with shapes)";
constexpr std::string_view kNoPython =
    "the trace has no calls of Python functions (torch.profiler records them if with_stack is set)";
constexpr std::string_view kNoTf32 =
    "the trace names no CUDA device with TF32 (compute capability 8.0 or later)";

constexpr std::int32_t kFirstWithTf32 = 8;

// What the trace contains that patterns need.
struct Contents {
  explicit Contents(const Trace& trace) {
    const SpanTable& spans = trace.spans();
    has_shapes = !trace.op_arguments().empty();
    for (const SpanId span : trace.all_spans()) {
      if (spans.kind[span] != SpanKind::PythonFunction) continue;
      has_python = true;
      break;
    }
    const DeviceTable& devices = trace.devices();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      // Kineto's files do not have the type of a device.
      const DeviceType type = devices.type[i];
      if (type != DeviceType::Cuda && type != DeviceType::Unknown) continue;
      if (devices.compute_major[i] < 0) continue;
      has_tf32 = devices.compute_major[i] >= kFirstWithTf32;
      if (!has_tf32) break;
    }
  }

  std::string_view missing_for(Pattern pattern) const {
    switch (pattern) {
      case Pattern::ExtraCudaCopy:
      case Pattern::Conv2dBiasBatchNorm:
        if (!has_python) return kNoPython;
        return has_shapes ? "" : kNoShapes;
      case Pattern::Fp32MatMul:
        if (!has_tf32) return kNoTf32;
        return has_shapes ? "" : kNoShapes;
      case Pattern::MatMulDimInFp16:
        return has_shapes ? "" : kNoShapes;
      case Pattern::OptimizerSingleTensor:
      case Pattern::SynchronizedDataLoader:
      case Pattern::GradientNotSetToNone:
        return has_python ? "" : kNoPython;
      case Pattern::ForLoopIndexing:
        return "";
    }
    return "";
  }

  bool has_shapes = false;
  bool has_python = false;
  bool has_tf32 = false;
};

using Matches = bool (PatternRules::*)(SpanId) const;

// For patterns that a single span matches.
Matches rule_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::ExtraCudaCopy:
      return &PatternRules::is_extra_copy;
    case Pattern::Fp32MatMul:
      return &PatternRules::is_full_precision_product;
    case Pattern::OptimizerSingleTensor:
      return &PatternRules::is_single_tensor_optimizer;
    case Pattern::SynchronizedDataLoader:
      return &PatternRules::loads_synchronously;
    case Pattern::GradientNotSetToNone:
      return &PatternRules::sets_gradients_to_zero;
    case Pattern::Conv2dBiasBatchNorm:
      return &PatternRules::has_bias_before_norm;
    case Pattern::MatMulDimInFp16:
      return &PatternRules::has_sizes_off_the_grid;
    case Pattern::ForLoopIndexing:
      break;
  }
  return nullptr;
}

class Matcher {
 public:
  explicit Matcher(const Trace& trace)
      : tree_(trace),
        launches_(trace),
        rules_(trace, tree_, launches_),
        savings_(trace, tree_, rules_, launches_) {}

  void match(PatternMatches& result) const {
    if (result.pattern == Pattern::ForLoopIndexing) return match_loops(result);
    const Matches rule = rule_of(result.pattern);
    for (const SpanId span : tree_.named()) {
      if ((rules_.*rule)(span)) result.spans.push_back(span);
    }
    result.saving_ns = savings_.of(result.pattern, result.spans);
  }

 private:
  void match_loops(PatternMatches& result) const {
    const std::vector<IndexingLoop> loops = rules_.indexing_loops();
    for (const IndexingLoop& loop : loops) result.spans.push_back(loop.first);
    result.saving_ns = savings_.of(loops);
  }

  const PatternTree tree_;
  const Launches launches_;
  const PatternRules rules_;
  const PatternSavings savings_;
};

}  // namespace
}  // namespace detail

std::vector<PatternMatches> match_patterns(const Trace& trace) {
  const detail::Contents contents(trace);
  const detail::Matcher matcher(trace);
  std::vector<PatternMatches> all;
  for (std::size_t i = 0; i < kPatterns; ++i) {
    PatternMatches result;
    result.pattern = static_cast<Pattern>(i);
    result.missing = contents.missing_for(result.pattern);
    if (result.missing.empty()) matcher.match(result);
    all.push_back(std::move(result));
  }
  return all;
}

}  // namespace sonde
