// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace sonde::cli {

// What CLI11 says of a wrong command line, in Sonde's words. Other messages stay as they are.
std::string in_own_words(std::string_view message);

}  // namespace sonde::cli
