// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Texts and arguments of a thread's records, put together where they go on in further records.

#include <cstdint>
#include <span>
#include <string>

#include "decode/decoded_thread.h"

namespace sonde {

class NameTable;

// `size` bytes of the words, or as many as they have.
std::string bytes_of(std::span<const std::uint64_t> words, std::uint64_t size);

// The argument's value. Integers are exact, floating point reads back as the same number and has a
// point or an exponent; NaN and infinities are strings.
std::string json_value(const DecodedNotes::Argument& argument);

class NoteDecoder {
 public:
  using Payload = std::span<const std::uint64_t>;

  explicit NoteDecoder(const NameTable& names) : names_(names) {}

  // The payload of a RangeInline or a Text; of a span that is not in the trace nothing is kept.
  void name(std::uint32_t span, Payload payload) { text(Tail::Name, span, payload); }
  void text(std::uint32_t span, Payload payload) { text(Tail::Text, span, payload); }
  // These return how many records or arguments make no sense.
  std::uint64_t more_text(Payload payload);
  std::uint64_t arguments(NoteOwner owner, Payload payload);
  // Records are missing here: what was begun does not go on.
  void forget() { begin_tail(Tail::None, 0, 0); }

  DecodedNotes finish();

 private:
  // What a MoreText goes on with: the last of that list, or something that is not kept.
  enum class Tail : std::uint8_t { None, Dropped, Name, Text, Argument };

  void text(Tail what, std::uint32_t span, Payload payload);
  void begin_tail(Tail what, std::uint64_t told, std::uint64_t found);
  std::string* open_text();
  // How many words of `rest` the text takes.
  std::size_t text_argument(NoteOwner owner, std::uint32_t key, std::uint64_t told, Payload rest);

  const NameTable& names_;
  DecodedNotes out_;
  Tail tail_ = Tail::None;
  std::uint64_t missing_ = 0;  // bytes that should still come
};

}  // namespace sonde
