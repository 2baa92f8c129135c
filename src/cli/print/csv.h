// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace sonde::cli {

// A cell with text, quoted if necessary (RFC 4180). Spreadsheets evaluate text that begins like a
// formula, even in quotes; an apostrophe in front prevents that. Numbers do not go through here.
inline std::string csv_cell(std::string_view text) {
  constexpr std::string_view kBeginsFormula = "=+-@\t\r";
  const bool is_computed = !text.empty() && kBeginsFormula.find(text[0]) != std::string_view::npos;
  const std::string mark = is_computed ? "'" : "";
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return mark + std::string(text);
  std::string cell = "\"" + mark;
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

}  // namespace sonde::cli
