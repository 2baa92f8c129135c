// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/result.h"

namespace sonde::detail {

// A text as gzip. Fails only for lack of memory.
Result<std::vector<std::uint8_t>> compressed(std::string_view text);

}  // namespace sonde::detail
