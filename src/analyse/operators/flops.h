// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The floating-point operations of a call by PyTorch's formulas, from recorded sizes.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// The operators that have a formula.
enum class FlopsFormula : std::uint8_t { None, Conv2d, Mm, Addmm, Bmm, Baddbmm, Mul, Add };
FlopsFormula flops_formula(std::string_view op_name);

// 0 if the formula's arguments are missing or invalid. Counts modulo 2^64, as PyTorch does.
std::uint64_t flops(const Trace& trace, FlopsFormula formula, SpanId span);

// The same for many calls. Each argument list is examined once.
class FlopsOfCalls {
 public:
  FlopsOfCalls() = default;
  explicit FlopsOfCalls(const Trace& trace);
  std::uint64_t operator()(const Trace& trace, SpanId span) const noexcept;

 private:
  static constexpr std::size_t kFormulas = 8;
  std::vector<FlopsFormula> formula_of_name_;
  std::array<std::vector<std::uint64_t>, kFormulas> of_list_;  // by argument list
};

}  // namespace sonde::detail
