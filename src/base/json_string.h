// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Decodes JSON strings.
//
//   decode_json_string(R"(C:\\temp\u00e9)")   // C:\tempé
//
// Never fails: unknown escapes keep their backslash, as in the Windows paths that old profilers
// wrote unescaped, and bytes that are not UTF-8 become U+FFFD.

#include <string>
#include <string_view>

namespace sonde {

// `raw` is the text between the quotes.
std::string decode_json_string(std::string_view raw);

// Whether decoding gives back `raw` itself.
bool is_plain_json_string(std::string_view raw);

// The first byte that is not allowed between quotes: a control character, an unknown escape, half
// of a surrogate pair, or a byte that is not UTF-8. npos if there is none.
std::size_t json_string_fault(std::string_view raw);

// `text` if it is valid JSON, else `text` as a JSON string.
std::string valid_json(std::string_view text);

}  // namespace sonde
