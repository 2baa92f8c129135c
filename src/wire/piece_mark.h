// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where a piece of a thread's events lies, when it was recorded, and what was open when it began:
// enough to decode any part of a recording without the rest. docs/file-format.md draws it.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "sonde/detail/words.h"

namespace sonde {

struct PieceMark {
  std::uint64_t thread = 0;
  std::uint64_t sequence = 0;
  std::uint32_t first_offset = 0;
  std::uint32_t word_count = 0;
  std::uint32_t block = 0;   // counts the events blocks of the file from 0
  std::uint32_t number = 0;  // of the piece in its block
  std::uint64_t first_ticks = 0;
  std::uint64_t last_ticks = 0;  // not before the first
  // Positions of the records that began what is open, ascending.
  std::vector<std::uint64_t> scopes;
  std::vector<std::uint64_t> ranges;

  std::uint64_t position() const { return detail::make_position(sequence, first_offset); }
  bool holds(std::uint64_t at) const {
    return at >= position() && at < position() + std::uint64_t{word_count} * 8;
  }

  void write(ByteWriter& out) const {
    for (const std::uint64_t number_of :
         {thread, sequence, std::uint64_t{first_offset}, std::uint64_t{word_count},
          std::uint64_t{block}, std::uint64_t{number}, first_ticks, last_ticks - first_ticks})
      out.varint(number_of);
    for (const auto* positions : {&scopes, &ranges}) {
      out.varint(positions->size());
      std::uint64_t before = 0;
      for (const std::uint64_t at : *positions) out.varint(at - std::exchange(before, at));
    }
  }
  static PieceMark read(ByteReader& in) {
    PieceMark mark;
    mark.thread = in.varint();
    mark.sequence = in.varint();
    mark.first_offset = static_cast<std::uint32_t>(in.varint());
    mark.word_count = static_cast<std::uint32_t>(in.varint());
    mark.block = static_cast<std::uint32_t>(in.varint());
    mark.number = static_cast<std::uint32_t>(in.varint());
    mark.first_ticks = in.varint();
    mark.last_ticks = mark.first_ticks + in.varint();
    for (auto* positions : {&mark.scopes, &mark.ranges}) {
      const std::uint64_t count = in.varint();
      std::uint64_t at = 0;
      for (std::uint64_t i = 0; i < count && in.ok(); ++i) positions->push_back(at += in.varint());
    }
    return mark;
  }
};

}  // namespace sonde
