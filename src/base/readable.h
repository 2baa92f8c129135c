// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Text from outside, such as names in a trace, as people may see it. Terminals and editors obey
// control characters, and directional ones show text in another order than it has. All of them, and
// bytes that are not UTF-8, are shown byte by byte: "\x1b".
//
//   readable_line("a\x1b[2J\n") == R"(a\x1b[2J\n)"

#include <string>
#include <string_view>

namespace sonde {

// Line breaks and tabs stay.
std::string readable_text(std::string_view text);
// They are shown too, as "\n" and "\t": for a name within a line.
std::string readable_line(std::string_view text);

}  // namespace sonde
