// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Parses quantities as users type them: "1.5s", "256M", "USR1".

#include <cstdint>
#include <string>
#include <utility>

#include "sonde/result.h"

namespace sonde::cli {

// A number with ns, us, ms, s, m or h; seconds without a unit. Must be more than 0.
Result<std::int64_t> parse_duration(const std::string& text);
// "40" or "40..49": the first and the last.
Result<std::pair<std::int64_t, std::int64_t>> parse_steps(const std::string& text);
// A number, or a number with K, M, G or T, optionally followed by B or iB: powers of 1024. Must be
// more than 0.
Result<std::uint64_t> parse_bytes(const std::string& text);
// A name, with or without SIG, or a number. Signals that end every program are rejected.
Result<int> parse_signal(const std::string& text);

}  // namespace sonde::cli
