// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Sends messages to the handler of set_message_handler.

#include <string_view>

namespace sonde {

void report_warning(std::string_view text);
void report_error(std::string_view text);

}  // namespace sonde
