// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads a complete text as if it were still being inflated.

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/kineto/read/read_kineto.h"
#include "convert/kineto/read/stretches.h"

namespace sonde::testing {

// `text` must be padded as json_text.h requires.
inline Result<Trace> read_in_parts(std::string_view text, const PartSizes& sizes) {
  std::vector<Reading> readings;
  for (std::size_t i = 0; i * sizes.part < text.size(); ++i) {
    const bool is_early = (i + 1) * sizes.part + sizes.behind <= text.size();
    Reading reading =
        read_part(text.begin(), i, sizes, is_early ? std::nullopt : std::optional(text.size()));
    if (reading.staged != nullptr) readings.push_back(std::move(reading));
  }
  return read_kineto(text, "text", TraceBuilder(), 1, std::move(readings));
}

}  // namespace sonde::testing
