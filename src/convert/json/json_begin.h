// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Whether a text is JSON of a trace, as far as its beginning says.

#include <string_view>

#include "sonde/result.h"

namespace sonde {

// After spaces and a byte order mark.
std::string_view json_begin(std::string_view text);

// By the first character, if there is one. The message names no file.
Result<void> check_json_begin(std::string_view text);

// The same for a text that is still growing: false while there is too little of it to say what it
// is, true if it may be JSON.
Result<bool> may_be_json(std::string_view begin);

}  // namespace sonde
