// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "sonde/trace.h"

namespace sonde::detail {

// Whether an option such as "profile_memory" was on; PyTorch writes 1.
inline bool has_flag(const Trace& trace, std::string_view key) {
  const MetadataTable& metadata = trace.metadata();
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (trace.string(metadata.key[i]) != key) continue;
    const std::string_view value = trace.string(metadata.value[i]);
    return value == "1" || value == "true";
  }
  return false;
}

}  // namespace sonde::detail
