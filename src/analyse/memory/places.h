// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where a block came from: its operator, its module and its stack, as small keys for grouping and
// as text for printing.

#include <cstdint>
#include <string>
#include <string_view>

#include "analyse/events/forward_ops.h"
#include "analyse/events/module_calls.h"
#include "sonde/analyse/memory.h"

namespace sonde::detail {

// No operator, because the block was held before recording began.
inline constexpr std::string_view kNoOpButBefore = "(before recording)";

class BlockPlaces {
 public:
  explicit BlockPlaces(const Trace& trace)
      : trace_(trace), forward_ops_(trace), module_calls_(trace) {}

  // Equal for blocks with the same text.
  std::uint64_t op_key(const MemoryBlock& block) const;
  std::uint64_t module_key(const MemoryBlock& block);
  std::uint64_t stack_key(const MemoryBlock& block);

  std::string op_text(const MemoryBlock& block) const;
  std::string module_text(const MemoryBlock& block);
  std::string stack_text(const MemoryBlock& block);  // "" if none is known

 private:
  SpanId in_forward(const MemoryBlock& block);
  ModuleId module_of(const MemoryBlock& block);
  StackId allocation_stack(const MemoryBlock& block) const;
  SpanId caller(const MemoryBlock& block);

  const Trace& trace_;
  ForwardOps forward_ops_;
  ModuleCalls module_calls_;
};

}  // namespace sonde::detail
