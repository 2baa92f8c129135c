// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/graphs/graph_names.h"

#include <array>

#include "sonde/analyse/dynamo.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

constexpr std::string_view kFramePrefix = "Torch-Compiled Region: ";
constexpr std::string_view kInductorPrefix = "## Call CompiledFxGraph ";
constexpr std::string_view kTritonPrefix = "triton_";

enum class Where : std::uint8_t { Whole, Begin, End };

struct Rule {
  GraphMark mark;
  Where where;
  std::string_view text;
};

constexpr std::array<Rule, 15> kRules = {{
    {GraphMark::Frame, Where::Begin, kFramePrefix},
    {GraphMark::GraphCall, Where::Whole, "CompiledFunction"},
    {GraphMark::GraphCall, Where::Begin, kInductorPrefix},
    {GraphMark::GradientCall, Where::Whole, "CompiledFunctionBackward"},
    {GraphMark::Guards, Where::Whole, "TorchDynamo Cache Lookup"},
    {GraphMark::Overhead, Where::Whole, "Pregraph bytecode"},
    {GraphMark::Overhead, Where::Whole, "AOTDispatcher Runtime Wrapper Prologue"},
    {GraphMark::Overhead, Where::End, " (dynamo_timed)"},
    // Kineto's files do not mark spans of TorchScript. The span of a module has its method's name.
    {GraphMark::Script, Where::Whole, "forward"},
    {GraphMark::Script, Where::Whole, "<forward op>"},
    {GraphMark::Script, Where::Whole, "<backward op>"},
    {GraphMark::ScriptGradient, Where::End, "::DifferentiableGraphBackward"},
    {GraphMark::Marked, Where::Whole, dynamo::kRegionName},
    {GraphMark::Wrapper, Where::Begin, kEvaluateFunction},
    {GraphMark::Wrapper, Where::Begin, kTritonPrefix},
}};

bool applies(const Rule& rule, std::string_view name) {
  switch (rule.where) {
    case Where::Whole:
      return name == rule.text;
    case Where::Begin:
      return name.starts_with(rule.text);
    case Where::End:
      return name.ends_with(rule.text);
  }
  return false;
}

// A gradient's wrapper ends like what it wraps. It counts as a wrapper.
GraphMark mark_of(std::string_view name) {
  GraphMark found = launches_graph(name) ? GraphMark::CudaGraph : GraphMark::None;
  for (const Rule& rule : kRules) {
    if (!applies(rule, name)) continue;
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
