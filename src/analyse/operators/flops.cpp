// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/operators/flops.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace sonde::detail {
namespace {

using Sizes = std::vector<std::uint64_t>;

constexpr std::array<std::pair<std::string_view, FlopsFormula>, 7> kFormulaNames = {{
    {"aten::conv2d", FlopsFormula::Conv2d},
    {"aten::mm", FlopsFormula::Mm},
    {"aten::addmm", FlopsFormula::Addmm},
    {"aten::bmm", FlopsFormula::Bmm},
    {"aten::baddbmm", FlopsFormula::Baddbmm},
    {"aten::mul", FlopsFormula::Mul},
    {"aten::add", FlopsFormula::Add},
}};

// The inputs of one call by their positions.
class Inputs {
 public:
  Inputs(const Trace& trace, SpanId span) : trace_(trace) {
    const OpArgumentTable& arguments = trace.op_arguments();
    for (const OpArgumentId id : trace.arguments(span)) {
      if (arguments.role[id] == ArgumentRole::Input && arguments.element[id] < 0) {
        positions_.push_back(id);
      }
    }
  }

  std::size_t count() const { return positions_.size(); }

  std::optional<Sizes> tensor(std::size_t position) const {
    const OpArgumentTable& arguments = trace_.op_arguments();
    if (position >= count()) return std::nullopt;
    const OpArgumentId id = positions_[position];
    if (arguments.kind[id] != ArgumentKind::Tensor || arguments.dims_count[id] < 0) {
      return std::nullopt;
    }
    Sizes sizes;
    const std::size_t first = arguments.dims_first[id].index();
    for (std::size_t i = 0; i < static_cast<std::size_t>(arguments.dims_count[id]); ++i) {
      sizes.push_back(static_cast<std::uint64_t>(trace_.dims().value[first + i]));
    }
    return sizes;
  }

  // "[1, 2]" or "3".
  std::optional<std::vector<std::int64_t>> integers(std::size_t position) const {
    if (position >= count()) return std::nullopt;
    std::string_view text = trace_.string(trace_.op_arguments().value[positions_[position]]);
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
      text = text.substr(1, text.size() - 2);
    }
    std::vector<std::int64_t> numbers;
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      std::string_view item = text.substr(0, comma);
      text.remove_prefix(std::min(comma + 1, text.size()));
      while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
      if (error != std::errc() || end != item.data() + item.size()) return std::nullopt;
      numbers.push_back(number);
    }
    return numbers;
  }

 private:
  const Trace& trace_;
  std::vector<OpArgumentId> positions_;
};

std::uint64_t product(const Sizes& sizes) {
  std::uint64_t result = 1;
  for (const std::uint64_t size : sizes) result *= size;
  return result;
}

// The product of (m, k) and (k, n) takes 2mkn operations.
std::uint64_t matrix_product(const std::optional<Sizes>& left, const std::optional<Sizes>& right,
                             bool batched) {
  if (!left || !right || left->empty() || left->back() == 0) return 0;
  std::uint64_t rows = product(*left) / left->back();
  if (batched) {
    if (left->front() == 0) return 0;
    rows /= left->front();
  }
  return 2 * rows * product(*right);
}

// How many positions a kernel of size `kernel` has along a side of `size`; 0 if it does not fit.
std::uint64_t places(std::uint64_t size, std::uint64_t kernel, std::int64_t padding,
                     std::int64_t dilation, std::int64_t stride) {
  const std::uint64_t padded = size + 2 * static_cast<std::uint64_t>(padding);
  const std::uint64_t reach = static_cast<std::uint64_t>(dilation) * (kernel - 1) + 1;
  return (padded - reach) / static_cast<std::uint64_t>(stride) + 1;
}

std::uint64_t convolution(const Inputs& inputs) {
  const auto input = inputs.tensor(0);
  const auto weight = inputs.tensor(1);
  const auto stride = inputs.integers(3);
  const auto padding = inputs.integers(4);
  const auto dilation = inputs.integers(5);
  const auto groups = inputs.integers(6);
  if (inputs.count() < 7 || !input || !weight || input->size() != 4 || weight->size() != 4) {
    return 0;
  }
  if (!stride || !padding || !dilation || !groups) return 0;
  if (stride->size() != 2 || padding->size() != 2 || dilation->size() != 2) return 0;
  if ((*stride)[0] == 0 || (*stride)[1] == 0 || groups->size() != 1 || (*groups)[0] == 0) return 0;
  const std::uint64_t high =
      places((*input)[2], (*weight)[2], (*padding)[0], (*dilation)[0], (*stride)[0]);
  const std::uint64_t wide =
      places((*input)[3], (*weight)[3], (*padding)[1], (*dilation)[1], (*stride)[1]);
  return 2 * (*input)[0] * high * wide * (*weight)[2] * (*weight)[3] * (*input)[1] * (*weight)[0] /
         static_cast<std::uint64_t>((*groups)[0]);
}

std::uint64_t elements_of_first(const Inputs& inputs) {
  const auto first = inputs.tensor(0);
  return first ? product(*first) : 0;
}

}  // namespace

FlopsFormula flops_formula(std::string_view op_name) {
  for (const auto& [name, formula] : kFormulaNames) {
    if (name == op_name) return formula;
  }
  return FlopsFormula::None;
}

std::uint64_t flops(const Trace& trace, FlopsFormula formula, SpanId span) {
  if (formula == FlopsFormula::None) return 0;
  const Inputs inputs(trace, span);
  switch (formula) {
    case FlopsFormula::None:
      return 0;
    case FlopsFormula::Conv2d:
      return convolution(inputs);
    case FlopsFormula::Mm:
      return matrix_product(inputs.tensor(0), inputs.tensor(1), false);
    case FlopsFormula::Bmm:
      return matrix_product(inputs.tensor(0), inputs.tensor(1), true);
    case FlopsFormula::Addmm:
      return inputs.tensor(0) ? matrix_product(inputs.tensor(1), inputs.tensor(2), false) : 0;
    case FlopsFormula::Baddbmm:
      return inputs.tensor(0) ? matrix_product(inputs.tensor(1), inputs.tensor(2), true) : 0;
    case FlopsFormula::Mul:
    case FlopsFormula::Add:
      return elements_of_first(inputs);
  }
  return 0;
}

FlopsOfCalls::FlopsOfCalls(const Trace& trace) {
  formula_of_name_.resize(trace.strings().size(), FlopsFormula::None);
  bool any = false;
  for (std::size_t i = 0; i < formula_of_name_.size(); ++i) {
    const std::string_view name = trace.string(StringId(i));
    if (!name.starts_with("aten::")) continue;
    formula_of_name_[i] = flops_formula(name);
    any = any || formula_of_name_[i] != FlopsFormula::None;
  }
  if (!any) return;
  const SpanTable& spans = trace.spans();
  std::array<std::vector<bool>, kFormulas> known;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const SpanId span(i);
    const ArgumentListId list = spans.arguments[span];
    const StringId name = spans.name[span];
    if (!list.valid() || !name.valid()) continue;
    const FlopsFormula formula = formula_of_name_[name.index()];
    if (formula == FlopsFormula::None) continue;
    const auto which = static_cast<std::size_t>(formula);
    known[which].resize(trace.argument_lists().size());
    if (known[which][list.index()]) continue;
    known[which][list.index()] = true;
    of_list_[which].resize(trace.argument_lists().size());
    of_list_[which][list.index()] = flops(trace, formula, span);
  }
}

std::uint64_t FlopsOfCalls::operator()(const Trace& trace, SpanId span) const noexcept {
  const StringId name = trace.spans().name[span];
  const ArgumentListId list = trace.spans().arguments[span];
  if (!name.valid() || !list.valid() || name.index() >= formula_of_name_.size()) return 0;
  const auto& of_list = of_list_[static_cast<std::size_t>(formula_of_name_[name.index()])];
  return list.index() < of_list.size() ? of_list[list.index()] : 0;
}

}  // namespace sonde::detail
