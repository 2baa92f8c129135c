// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/patterns/rules.h"

#include <algorithm>
#include <string_view>

namespace sonde::detail {
namespace {

constexpr std::uint32_t kFewestRounds = 10;
constexpr std::int64_t kGrid = 8;

// The arguments of a call by position, without the elements of lists.
std::vector<OpArgumentId> inputs_of(const Trace& trace, SpanId span) {
  const OpArgumentTable& arguments = trace.op_arguments();
  std::vector<OpArgumentId> inputs;
  for (const OpArgumentId id : trace.arguments(span)) {
    if (arguments.role[id] == ArgumentRole::Input && arguments.element[id] < 0)
      inputs.push_back(id);
  }
  return inputs;
}

// "float"; empty for anything but a tensor.
std::string_view element_type(const Trace& trace, OpArgumentId input) {
  const OpArgumentTable& arguments = trace.op_arguments();
  return arguments.kind[input] == ArgumentKind::Tensor ? trace.string(arguments.dtype[input])
                                                       : std::string_view();
}

// Whether its last two sizes are multiples of eight.
bool is_on_the_grid(const Trace& trace, OpArgumentId input) {
  const OpArgumentTable& arguments = trace.op_arguments();
  if (arguments.kind[input] != ArgumentKind::Tensor) return true;
  const std::int32_t count = arguments.dims_count[input];
  for (std::int32_t dim = std::max(count - 2, 0); dim < count; ++dim) {
    const std::size_t row = arguments.dims_first[input].index() + static_cast<std::size_t>(dim);
    if (trace.dims().value[row] % kGrid != 0) return false;
  }
  return true;
}

}  // namespace

PatternRules::PatternRules(const Trace& trace, const PatternTree& tree, const Launches& launches)
    : trace_(trace), tree_(tree), launches_(launches) {
  for (const SpanId span : tree.named()) {
    if (!tree.is(span, Word::Zero)) continue;
    const SpanId around = tree.parent(span);
    if (around.valid() && !tree.is(around, Word::Zeros)) zeroed_.push_back(span);
  }
}

// A copy between equal types, after a call whose innermost last call filled a tensor.
bool PatternRules::is_extra_copy(SpanId span) const {
  if (!tree_.is(span, Word::To)) return false;
  const SpanId to_copy = tree_.last_child(span);
  if (!to_copy.valid() || !tree_.is(to_copy, Word::ToCopy)) return false;
  const SpanId copy = tree_.last_child(to_copy);
  if (!copy.valid() || !tree_.is(copy, Word::Copy)) return false;
  const std::vector<OpArgumentId> inputs = inputs_of(trace_, copy);
  if (inputs.size() < 2) return false;
  const std::string_view target = element_type(trace_, inputs[0]);
  if (target.empty() || target != element_type(trace_, inputs[1])) return false;

  const SpanId caller = tree_.parent(span);
  SpanId at = caller.valid() ? tree_.previous(caller) : SpanId();
  if (!at.valid()) return false;
  while (tree_.last_child(at).valid()) {
    at = tree_.last_child(at);
    if (tree_.is(at, Word::FillsTensor)) return true;
  }
  return tree_.is(at, Word::FillsTensor);
}

// Traces do not say whether TF32 was allowed, but the names of the kernels do.
bool PatternRules::is_full_precision_product(SpanId span) const {
  if (!tree_.is(span, Word::Mm)) return false;
  const std::vector<OpArgumentId> inputs = inputs_of(trace_, span);
  if (inputs.empty() || element_type(trace_, inputs[0]) != "float") return false;
  const std::span<const Launch> work = launches_.below(span);
  return std::any_of(work.begin(), work.end(), [&](const Launch& launch) {
    return tree_.is(launch.work, Word::Fp32Product);
  });
}

bool PatternRules::is_single_tensor_optimizer(SpanId span) const {
  return tree_.is(span, Word::SingleTensorOptimizer);
}

bool PatternRules::loads_synchronously(SpanId span) const {
  if (!tree_.is(span, Word::LoaderIter)) return false;
  const SpanId get = tree_.first_child(span);
  if (!get.valid() || !tree_.is(get, Word::LoaderGetIterator)) return false;
  const SpanId made = tree_.first_child(get);
  return made.valid() && !tree_.is(made, Word::LoaderCheckWorkers);
}

std::span<const SpanId> PatternRules::zeroed_below(SpanId span) const {
  const auto first = std::upper_bound(zeroed_.begin(), zeroed_.end(), span);
  return {first, std::lower_bound(first, zeroed_.end(), SpanId(rows_end(trace_, span)))};
}

bool PatternRules::sets_gradients_to_zero(SpanId span) const {
  return tree_.is(span, Word::ZeroGrad) && !zeroed_below(span).empty();
}

bool PatternRules::has_bias_before_norm(SpanId span) const {
  if (!tree_.is(span, Word::Conv2d)) return false;
  const std::vector<OpArgumentId> inputs = inputs_of(trace_, span);
  if (inputs.size() < 3 || element_type(trace_, inputs[2]).empty()) return false;
  // As in PyTorch: without such a module, the outermost call takes its place.
  SpanId module = span;
  while (tree_.parent(module).valid() && !tree_.is(module, Word::ModuleConv2d))
    module = tree_.parent(module);
  const SpanId next = tree_.next(module);
  return next.valid() && tree_.is(next, Word::ModuleBatchNorm2d);
}

bool PatternRules::has_sizes_off_the_grid(SpanId span) const {
  if (!tree_.is(span, Word::MatMul)) return false;
  const std::vector<OpArgumentId> inputs = inputs_of(trace_, span);
  if (inputs.empty()) return false;
  const std::string_view type = element_type(trace_, inputs[0]);
  if (type != "c10::Half" && type != "c10::BFloat16") return false;
  return !std::all_of(inputs.begin(), inputs.end(),
                      [&](OpArgumentId input) { return is_on_the_grid(trace_, input); });
}

// The next sibling that is aten::select.
SpanId PatternRules::body_end(SpanId select) const {
  SpanId at = tree_.next(select);
  while (at.valid() && !tree_.is(at, Word::Select)) at = tree_.next(at);
  return at;
}

// The last operator of the round that begins at `other`, if it has the same names as the round from
// `first` to `end`; invalid otherwise.
SpanId PatternRules::matching_round(SpanId first, SpanId end, SpanId other) const {
  SpanId last;
  for (SpanId at = first; at != end; at = tree_.next(at)) {
    if (!other.valid() || trace_.spans().name[at] != trace_.spans().name[other]) return {};
    last = other;
    other = tree_.next(other);
  }
  return last;
}

IndexingLoop PatternRules::loop_from(SpanId select, std::vector<bool>& visited) const {
  IndexingLoop loop{select, select, 1};
  const SpanId second = tree_.next(select);
  if (!second.valid() || !tree_.next(second).valid()) return loop;
  const SpanId end = body_end(select);
  SpanId round = end;
  while (round.valid()) {
    const SpanId last = matching_round(select, end, round);
    if (!last.valid()) break;
    visited[round.index()] = true;
    ++loop.rounds;
    loop.last = last;
    round = tree_.next(last);
  }
  return loop;
}

std::vector<IndexingLoop> PatternRules::indexing_loops() const {
  std::vector<IndexingLoop> loops;
  std::vector<bool> visited(trace_.spans().size());
  for (const SpanId span : tree_.named()) {
    if (!tree_.is(span, Word::Select) || visited[span.index()]) continue;
    const IndexingLoop loop = loop_from(span, visited);
    if (loop.rounds >= kFewestRounds) loops.push_back(loop);
  }
  return loops;
}

}  // namespace sonde::detail
