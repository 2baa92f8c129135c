// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/graphs/graph_names.h"

#include <array>

#include "analyse/name_place.h"
#include "sonde/analyse/dynamo.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

constexpr std::string_view kFramePrefix = "Torch-Compiled Region: ";
constexpr std::string_view kInductorPrefix = "## Call CompiledFxGraph ";
constexpr std::string_view kTritonPrefix = "triton_";

struct Rule {
  GraphMark mark;
  NamePlace place;
  std::string_view text;
};

constexpr std::array<Rule, 15> kRules = {{
    {GraphMark::Frame, NamePlace::Begin, kFramePrefix},
    {GraphMark::GraphCall, NamePlace::Whole, "CompiledFunction"},
    {GraphMark::GraphCall, NamePlace::Begin, kInductorPrefix},
    {GraphMark::GradientCall, NamePlace::Whole, "CompiledFunctionBackward"},
    {GraphMark::Guards, NamePlace::Whole, "TorchDynamo Cache Lookup"},
    {GraphMark::Overhead, NamePlace::Whole, "Pregraph bytecode"},
    {GraphMark::Overhead, NamePlace::Whole, "AOTDispatcher Runtime Wrapper Prologue"},
    {GraphMark::Overhead, NamePlace::End, " (dynamo_timed)"},
    // Kineto's files do not mark spans of TorchScript. The span of a module has its method's name.
    {GraphMark::Script, NamePlace::Whole, "forward"},
    {GraphMark::Script, NamePlace::Whole, "<forward op>"},
    {GraphMark::Script, NamePlace::Whole, "<backward op>"},
    {GraphMark::ScriptGradient, NamePlace::End, "::DifferentiableGraphBackward"},
    {GraphMark::Marked, NamePlace::Whole, dynamo::kRegionName},
    {GraphMark::Wrapper, NamePlace::Begin, kEvaluateFunction},
    {GraphMark::Wrapper, NamePlace::Begin, kTritonPrefix},
}};

// A gradient's wrapper ends like what it wraps. It counts as a wrapper.
GraphMark mark_of(std::string_view name) {
  GraphMark found = launches_graph(name) ? GraphMark::CudaGraph : GraphMark::None;
  for (const Rule& rule : kRules) {
    if (!has_text(name, rule.place, rule.text)) continue;
    if (rule.mark == GraphMark::Wrapper || found == GraphMark::None) found = rule.mark;
  }
  return found;
}

bool is_annotation_mark(GraphMark mark) {
  return mark == GraphMark::GraphCall || mark == GraphMark::Marked || mark == GraphMark::Overhead;
}

}  // namespace

std::string_view frame_name(std::string_view name) noexcept {
  const bool is_frame = name.starts_with(kFramePrefix);
  return is_frame ? name.substr(kFramePrefix.size()) : name;
}

bool is_inductor_call(std::string_view name) noexcept {
  return name.starts_with(kInductorPrefix);
}

bool is_triton_kernel(std::string_view name) noexcept {
  return name.starts_with(kTritonPrefix);
}

GraphMarks::GraphMarks(const Trace& trace) : trace_(trace) {
  of_name_.reserve(trace.strings().size());
  for (std::size_t i = 0; i < trace.strings().size(); ++i)
    of_name_.push_back(mark_of(trace.string(StringId(i))));
}

GraphMark GraphMarks::of(SpanId span) const {
  const SpanTable& spans = trace_.spans();
  const StringId name = spans.name[span];
  const GraphMark mark = name.valid() ? of_name_[name.index()] : GraphMark::None;
  const SpanKind kind = spans.kind[span];
  if (kind == SpanKind::CpuOp) {
    if (mark == GraphMark::CudaGraph || mark == GraphMark::Marked) return GraphMark::None;
    if (mark == GraphMark::None && spans.scope[span] == RecordScope::TorchscriptFunction)
      return GraphMark::Script;
    return mark;
  }
  const bool is_mark = (is_user_range(kind) && is_annotation_mark(mark)) ||
                       (is_call(kind) && mark == GraphMark::CudaGraph);
  return is_mark ? mark : GraphMark::Wrapper;
}

}  // namespace sonde::detail
