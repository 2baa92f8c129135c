// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The strings of a trace in JSON form. Most need no escaping and are copied from the pool. The
// others are escaped once, as far as a bounded memory allows.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

// Immutable once made. Any number of threads may read it, each with its own scratch string.
class JsonStrings {
 public:
  explicit JsonStrings(const Trace& trace);

  // The text between the quotes. Valid until `scratch` changes.
  std::string_view escaped(StringId id, std::string& scratch) const {
    if (!is_set(needs_escape_, id)) return trace_.string(id);
    return escaped_slowly(id, scratch);
  }

  // A text that should be a JSON value, as in extras. If it is not, it becomes a JSON string.
  std::string_view value(StringId id, std::string& scratch) const;

 private:
  static bool is_set(const std::vector<std::uint64_t>& bits, StringId id) {
    const std::size_t word = id.index() / 64;
    return word < bits.size() && (bits[word] >> (id.index() % 64) & 1) != 0;
  }
  static void set(std::vector<std::uint64_t>& bits, StringId id) {
    bits[id.index() / 64] |= std::uint64_t{1} << (id.index() % 64);
  }
  std::string_view escaped_slowly(StringId id, std::string& scratch) const;
  void find_values(const Column<StringId>& column, std::vector<std::uint64_t>& seen);

  const Trace& trace_;
  std::vector<std::uint64_t> needs_escape_;  // a bit for each string
  std::vector<std::uint64_t> is_value_;      // a bit for each string that is valid JSON
  std::unordered_map<std::uint32_t, std::string> cached_;
};

}  // namespace sonde
