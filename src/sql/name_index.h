// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds strings of a trace by their text. A pool that was read from a file may contain a text
// twice.

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "sonde/trace.h"

namespace sonde::sql {

class NameIndex {
 public:
  explicit NameIndex(const StringPool& strings) : strings_(strings) {}

  // Calls visit(id) for each string with that text.
  template <typename Visit>
  void for_each(std::string_view text, Visit&& visit) {
    if (ids_.empty()) fill();
    const auto [first, last] = ids_.equal_range(text);
    for (auto at = first; at != last; ++at) visit(at->second);
  }

 private:
  void fill() {
    ids_.reserve(strings_.size());
    for (std::uint32_t id = 0; id < strings_.size(); ++id) ids_.emplace(strings_[StringId(id)], id);
  }

  const StringPool& strings_;
  std::unordered_multimap<std::string_view, std::uint32_t> ids_;
};

}  // namespace sonde::sql
