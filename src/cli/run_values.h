// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Quantities as they are typed: "1.5s", "256M", "USR1".

#include <cstdint>
#include <string>

#include "sonde/result.h"

namespace sonde::cli {

// A number and ns, us, ms, s, m or h; seconds without. More than 0.
Result<std::int64_t> parse_duration(const std::string& text);
// A number and nothing, K, M, G or T, each with B or iB if wanted: powers of 1024. More than 0.
Result<std::uint64_t> parse_bytes(const std::string& text);
// A name, with or without SIG, or a number; none that ends every program.
Result<int> parse_signal(const std::string& text);

}  // namespace sonde::cli
