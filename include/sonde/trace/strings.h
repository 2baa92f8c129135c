// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All strings of a trace, each stored once.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/trace/tables_gen.h"

namespace sonde {

// One block of bytes, and where each string ends in it:
//
//   bytes_  c o n v 2 d s t e p
//   ends_   6 10                    string 0 is "conv2d", string 1 is "step"
//
// Ids count up from 0. The empty string is a string like any other; an invalid id also reads as the
// empty string.
class StringPool {
 public:
  // The same text gives the same id. Invalidates views into the pool.
  StringId intern(std::string_view text);
  // Adds without searching for the same text, for reading a stored pool.
  StringId add(std::string_view text);

  std::size_t size() const noexcept { return ends_.size(); }
  std::size_t byte_size() const noexcept { return bytes_.size(); }

  std::string_view operator[](StringId id) const noexcept {
    if (id.index() >= ends_.size()) return {};
    const std::size_t begin = id.index() == 0 ? 0 : ends_[id.index() - 1];
    return {bytes_.data() + begin, ends_[id.index()] - begin};
  }

 private:
  void grow_slots();
  std::size_t slot_of(std::string_view text) const;

  std::vector<char> bytes_;
  std::vector<std::uint64_t> ends_;
  std::vector<std::uint32_t> slots_;  // open addressing; a power of two; kFreeSlot or an id
  std::size_t indexed_ = 0;           // strings that slots_ knows of; add() leaves it behind
};

}  // namespace sonde
