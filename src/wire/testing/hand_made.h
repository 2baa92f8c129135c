// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Words, pieces and dictionaries written by hand, for tests.
//
//   join({begin(10, 1), end(20)})     // a scope of name 1 from tick 10 to tick 20

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "sonde/detail/words.h"
#include "wire/codec.h"
#include "wire/dictionary.h"

namespace sonde::testing {

using Words = std::vector<std::uint64_t>;
using Bytes = std::vector<std::uint8_t>;

inline Words begin(std::uint64_t ticks, std::uint32_t id) {
  return {detail::make_word(ticks, id, detail::WordKind::Begin)};
}
inline Words lap(std::uint64_t ticks, std::uint32_t id) {
  return {detail::make_word(ticks, id, detail::WordKind::Lap)};
}
inline Words end(std::uint64_t ticks) {
  return {detail::make_word(ticks, 0, detail::WordKind::End)};
}
inline Words extended(std::uint64_t ticks, detail::ExtendedKind kind, const Words& payload) {
  Words words = {detail::make_extended(ticks, kind, static_cast<std::uint32_t>(payload.size()))};
  words.insert(words.end(), payload.begin(), payload.end());
  return words;
}
inline Words text_payload(std::string_view text) {
  Words payload(1 + (text.size() + 7) / 8, 0);
  payload[0] = text.size();
  if (!text.empty()) std::memcpy(payload.data() + 1, text.data(), text.size());
  return payload;
}
inline Words join(std::initializer_list<Words> parts) {
  Words words;
  for (const Words& part : parts) words.insert(words.end(), part.begin(), part.end());
  return words;
}

// A piece in the form of an Events block, with its length first.
inline Bytes events_piece(EventsHead head, const Words& words) {
  head.word_count = static_cast<std::uint32_t>(words.size());
  Bytes encoded;
  encode_events(head, words, encoded);
  ByteWriter out;
  out.write(static_cast<std::uint32_t>(encoded.size()));
  out.raw(encoded.data(), encoded.size());
  return out.take();
}

inline Bytes dictionary_entry(const DictionaryEntry& entry) {
  Bytes bytes(room_for(entry));
  bytes.resize(lay_entry(bytes, entry).size());
  return bytes;
}
inline Bytes name_entry(std::uint64_t id, std::string_view name) {
  return dictionary_entry({.kind = DictionaryKind::Name, .id = id, .name = name});
}
inline Bytes site_entry(std::uint64_t id, std::string_view name, std::uint32_t line) {
  return dictionary_entry({.kind = DictionaryKind::Site,
                           .id = id,
                           .number = line,
                           .name = name,
                           .function = "function",
                           .file = "file.cpp"});
}
inline Bytes thread_entry(std::uint64_t thread, std::uint64_t kernel_id, std::string_view name) {
  return dictionary_entry(
      {.kind = DictionaryKind::Thread, .id = thread, .number = kernel_id, .name = name});
}
inline Bytes join_bytes(std::initializer_list<Bytes> parts) {
  Bytes bytes;
  for (const Bytes& part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

}  // namespace sonde::testing
