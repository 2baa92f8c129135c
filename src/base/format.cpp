// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/format.h"

#include <fmt/format.h>

#include <iterator>

namespace sonde {

std::string format_values(fmt::string_view pattern, fmt::format_args values) {
  return fmt::vformat(pattern, values);
}

void append_values(std::string& out, fmt::string_view pattern, fmt::format_args values) {
  fmt::vformat_to(std::back_inserter(out), pattern, values);
}

}  // namespace sonde
