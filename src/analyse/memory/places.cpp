// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/memory/places.h"

#include <string_view>
#include <vector>

#include "analyse/events/stacks.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

constexpr std::string_view kOutside = "(outside operators)";
constexpr std::uint64_t kBeforeKey = ~std::uint64_t{0};
constexpr std::uint64_t kOutsideKey = kBeforeKey - 1;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return (a ^ b) * 0x9E3779B97F4A7C15 + (a >> 29);
}

}  // namespace

std::uint64_t BlockPlaces::op_key(const MemoryBlock& block) const {
  if (!block.birth.valid()) return kBeforeKey;
  return block.op.valid() ? trace_.spans().name[block.op].value() : kOutsideKey;
}

std::string BlockPlaces::op_text(const MemoryBlock& block) const {
  if (!block.birth.valid()) return std::string(kNoOpButBefore);
  return block.op.valid() ? without_addresses(trace_.name(block.op)) : std::string(kOutside);
}

// Where it was allocated; for what a gradient allocated, the operator that the gradient is of.
SpanId BlockPlaces::in_forward(const MemoryBlock& block) {
  const SpanId op = caller(block);
  return op == block.op ? block.span : op;
}

// The module of the innermost span around its birth that has one.
ModuleId BlockPlaces::module_of(const MemoryBlock& block) {
  if (trace_.modules().empty()) return {};
  const SpanTable& spans = trace_.spans();
  SpanId at = in_forward(block);
  while (at.valid() && !spans.module[at].valid()) at = spans.parent[at];
  return at.valid() ? spans.module[at] : ModuleId();
}

std::uint64_t BlockPlaces::module_key(const MemoryBlock& block) {
  if (!block.birth.valid()) return kBeforeKey;
  if (const ModuleId module = module_of(block); module.valid()) return module.value();
  const SpanTable& spans = trace_.spans();
  std::uint64_t key = kOutsideKey;
  for (SpanId at = module_calls_.around(in_forward(block)); at.valid();
       at = module_calls_.around(spans.parent[at]))
    key = mixed(key + 3, spans.name[at].value());
  return key;
}

std::string BlockPlaces::module_text(const MemoryBlock& block) {
  if (!block.birth.valid()) return std::string(kNoOpButBefore);
  const ModuleTable& modules = trace_.modules();
  std::vector<std::string_view> inner_first;
  for (ModuleId at = module_of(block); at.valid(); at = modules.parent[at]) {
    const std::string_view name = trace_.string(modules.name[at]);
    inner_first.push_back(name.empty() ? trace_.string(modules.class_name[at]) : name);
  }
  if (inner_first.empty()) {
    for (SpanId at = module_calls_.around(in_forward(block)); at.valid();
         at = module_calls_.around(trace_.spans().parent[at]))
      inner_first.push_back(module_calls_.name(at));
  }
  if (inner_first.empty()) return "(outside modules)";
  std::string path(inner_first.back());
  for (std::size_t i = inner_first.size() - 1; i-- > 0;) {
    path += '.';
    path += inner_first[i];
  }
  return path;
}

StackId BlockPlaces::allocation_stack(const MemoryBlock& block) const {
  return block.birth.valid() ? trace_.allocations().stack[block.birth] : StackId();
}

// The operator of the program whose stack shows where the block comes from.
SpanId BlockPlaces::caller(const MemoryBlock& block) {
  const SpanTable& spans = trace_.spans();
  if (!block.op.valid()) return block.op;
  if (spans.scope[block.op] == RecordScope::BackwardFunction) return forward_ops_.of(block.op);
  return block.op;
}

std::uint64_t BlockPlaces::stack_key(const MemoryBlock& block) {
  const SpanTable& spans = trace_.spans();
  if (const StackId own = allocation_stack(block); own.valid()) return mixed(1, own.value());
  const SpanId span = caller(block);
  if (!span.valid()) return 0;
  if (spans.stack[span].valid()) return mixed(1, spans.stack[span].value());
  std::uint64_t key = 0;
  for (SpanId at = spans.parent[span]; at.valid(); at = spans.parent[at]) {
    if (spans.kind[at] == SpanKind::PythonFunction) key = mixed(key + 2, spans.name[at].value());
  }
  return key;
}

std::string BlockPlaces::stack_text(const MemoryBlock& block) {
  const StackId own = allocation_stack(block);
  const SpanId span = caller(block);
  std::vector<std::string> frames;
  if (own.valid()) {
    frames = recorded_stack(trace_, own);
  } else if (span.valid()) {
    frames = own_stack(trace_, span);
  }
  std::string text;
  for (const std::string& frame : frames) {
    if (!text.empty()) text += " < ";
    text += without_addresses(frame);
  }
  return text;
}

}  // namespace sonde::detail
