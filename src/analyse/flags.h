// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
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

// The text that a key has, without its quotes; empty if it has none.
inline std::string metadata_text(const Trace& trace, std::string_view key) {
  const MetadataTable& metadata = trace.metadata();
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (trace.string(metadata.key[i]) != key) continue;
    const std::string_view value = trace.string(metadata.value[i]);
    const bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    return std::string(is_quoted ? value.substr(1, value.size() - 2) : value);
  }
  return {};
}

}  // namespace sonde::detail
