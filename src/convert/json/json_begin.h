// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Whether a text may be the JSON of a trace, judged by its beginning.

#include <string_view>

#include "sonde/result.h"

namespace sonde {

// The text after spaces and a byte order mark.
std::string_view json_begin(std::string_view text);

// Judges by the first character, if there is one. The message names no file.
Result<void> check_json_begin(std::string_view text);

// The same for a text that is still growing: false while there is too little of it to judge, true
// if it may be JSON.
Result<bool> may_be_json(std::string_view begin);

}  // namespace sonde
