// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What operators were called with, each once: a training loop repeats a few thousand lists of
// inputs millions of times.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sonde {

class InternedInputs {
 public:
  // The number of this payload of an OpInputs record, counted from 0 in order of appearance.
  std::uint32_t number_of(std::span<const std::uint64_t> payload);
  // The bytes of each, by number.
  std::vector<std::string> texts() const;

 private:
  struct Entry {
    std::uint64_t hash;
    std::size_t first;  // in words_
    std::size_t count;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;
  void grow();
  std::uint32_t find(std::span<const std::uint64_t> payload);
  bool is_equal(std::uint32_t number, std::span<const std::uint64_t> payload) const;
  std::span<const std::uint64_t> words_of(const Entry& entry) const {
    return std::span(words_).subspan(entry.first, entry.count);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> next_;  // by number: what came after it last time
  std::uint32_t last_ = kNone;
  std::vector<std::uint64_t> words_;  // of all entries, one after the other
  std::vector<std::uint32_t> slots_;  // open addressing; a power of two; 0 or a number + 1
};

}  // namespace sonde
