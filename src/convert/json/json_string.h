// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a JSON string says.
//
//   decode_json_string(R"(C:\\temp\u00e9)")   // C:\tempé
//
// Never fails: escapes that JSON does not know keep their backslash, as in the Windows paths that
// old profilers wrote raw, and whatever is no UTF-8 becomes U+FFFD.

#include <string>
#include <string_view>

namespace sonde {

// `raw` is what stands between the quotes.
std::string decode_json_string(std::string_view raw);

// Whether decoding gives back `raw` itself.
bool is_plain_json_string(std::string_view raw);

// The first byte that may not stand between quotes: a control character, a backslash of no escape,
// the surrogate of a pair that is none, bytes that are no UTF-8. npos if all may.
std::size_t json_string_fault(std::string_view raw);

// `text` if it is valid JSON, else the same as a JSON string.
std::string valid_json(std::string_view text);

}  // namespace sonde
