// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Formats text with a pattern that is checked at compile time.
//
//   format_text("{} of {}, {:.1f} %", 3, 8, 37.5) == "3 of 8, 37.5 %"
//
// fmt does the work. It is compiled once, in format.cpp, because compiling it in every source that
// has a pattern would take seconds each.

#include <fmt/core.h>

#include <string>

namespace sonde {

template <typename... Values>
using FormatPattern = fmt::format_string<Values...>;

std::string format_values(fmt::string_view pattern, fmt::format_args values);
void append_values(std::string& out, fmt::string_view pattern, fmt::format_args values);

template <typename... Values>
std::string format_text(FormatPattern<Values...> pattern, Values&&... values) {
  return format_values(pattern, fmt::make_format_args(values...));
}

// Appends to `out`.
template <typename... Values>
void append_formatted(std::string& out, FormatPattern<Values...> pattern, Values&&... values) {
  append_values(out, pattern, fmt::make_format_args(values...));
}

}  // namespace sonde
