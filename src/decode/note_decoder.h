// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The texts and arguments of a thread's records, joined if they continue in further records.

#include <cstdint>
#include <span>
#include <string>

#include "decode/decoded_thread.h"

namespace sonde {

class NameTable;

// `size` bytes of the words, or as many as there are.
std::string bytes_of(std::span<const std::uint64_t> words, std::uint64_t size);

// The value of an argument as JSON. Integers are exact. A floating point number reads back as the
// same number and has a point or an exponent. NaN and infinities are strings.
std::string json_value(const DecodedNotes::Argument& argument);

class NoteDecoder {
 public:
  using Payload = std::span<const std::uint64_t>;

  explicit NoteDecoder(const NameTable& names) : names_(names) {}

  // Takes the payload of a RangeInline or a Text. Nothing is kept for a span that is not in the
  // trace.
  void name(std::uint32_t span, Payload payload) { text(Tail::Name, span, payload); }
  void text(std::uint32_t span, Payload payload) { text(Tail::Text, span, payload); }
  // These return how many records or arguments are invalid.
  std::uint64_t more_text(Payload payload);
  std::uint64_t arguments(NoteOwner owner, Payload payload);
  // Call it where records are missing: an unfinished text does not continue.
  void forget() { begin_tail(Tail::None, 0, 0); }

  DecodedNotes finish();

 private:
  // What a MoreText continues: the last of that list, or something that is not kept.
  enum class Tail : std::uint8_t { None, Dropped, Name, Text, Argument };

  void text(Tail what, std::uint32_t span, Payload payload);
  void begin_tail(Tail what, std::uint64_t told, std::uint64_t found);
  std::string* open_text();
  // Returns how many words of `rest` the text takes.
  std::size_t text_argument(NoteOwner owner, std::uint32_t key, std::uint64_t told, Payload rest);

  const NameTable& names_;
  DecodedNotes out_;
  Tail tail_ = Tail::None;
  std::uint64_t missing_ = 0;  // bytes still expected
};

}  // namespace sonde
