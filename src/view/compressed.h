// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/result.h"

namespace sonde::detail {

// Compresses a text with gzip. Fails only if memory runs out.
Result<std::vector<std::uint8_t>> compressed(std::string_view text);

}  // namespace sonde::detail
