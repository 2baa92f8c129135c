// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "base/readable.h"

namespace sonde::cli {

// A text on one line that no Markdown reader misinterprets, in tables either.
inline std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : readable_line(text)) {
    if (std::string_view("\\`*_{}[]<>#|~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace sonde::cli
