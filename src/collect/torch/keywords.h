// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What an operator was passed by keyword. torch has it from 2.1 on.

#include <ATen/record_function.h>

#include <type_traits>

namespace sonde::torch {

struct NoKeywords {
  static constexpr bool empty() { return true; }
};

// The overload that compiles is used.
template <typename Function>
auto keyword_inputs(const Function& fn, int /*later*/) -> std::decay_t<decltype(fn.kwinputs())> {
  return fn.kwinputs();
}
template <typename Function>
NoKeywords keyword_inputs(const Function& /*fn*/, long /*earlier*/) {
  return {};
}

template <typename Keywords, typename Visit>
auto visit_keywords(const Keywords& keywords, const Visit& visit, int /*later*/)
    -> decltype(keywords.begin(), void()) {
  for (const auto& [name, value] : keywords) visit(name, value);
}
template <typename Keywords, typename Visit>
void visit_keywords(const Keywords& /*none*/, const Visit& /*visit*/, long /*earlier*/) {}

// visit(name, value) for each.
template <typename Visit>
void for_each_keyword(const at::RecordFunction& fn, const Visit& visit) {
  visit_keywords(keyword_inputs(fn, 0), visit, 0);
}

}  // namespace sonde::torch
