// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes text from outside, such as names in a trace, safe to show. Terminals and editors obey
// control characters, and directional marks show text in another order than it has. All of these,
// and bytes that are not UTF-8, are shown byte by byte: "\x1b".
//
//   readable_line("a\x1b[2J\n") == R"(a\x1b[2J\n)"

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde {

// Keeps line breaks and tabs.
std::string readable_text(std::string_view text);
// Shows line breaks and tabs as "\n" and "\t", for a name within a line.
std::string readable_line(std::string_view text);
// The same for at most `bytes` bytes; "…" says that there is more.
std::string readable_start(std::string_view text, std::size_t bytes);

}  // namespace sonde
