// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The few parts of JSON that must work without a library: writing strings, and checking that a text
// is one JSON value. `convert` reads traces.

#include <cstddef>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde {

// Appends `text` as a JSON string with its quotes. Whatever the bytes are, the result is valid
// UTF-8 and valid JSON: ill-formed sequences become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

// The shortest text that reads back as the same number, at most kMaxJsonNumber bytes. JSON has no
// numbers for NaN and infinities, so they become strings.
inline constexpr std::size_t kMaxJsonNumber = 32;
char* put_json_number(char* at, double value);

// Succeeds if `text` is exactly one JSON value (RFC 8259), nested at most 1000 deep. The error has
// the byte offset.
Result<void> validate_json(std::string_view text);

}  // namespace sonde
