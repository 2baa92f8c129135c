// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/note_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/json.h"
#include "decode/thread_decoder.h"

namespace sonde {

using detail::ArgumentType;

std::string bytes_of(std::span<const std::uint64_t> words, std::uint64_t size) {
  std::string text(std::min<std::uint64_t>(size, words.size_bytes()), '\0');
  if (!text.empty()) std::memcpy(text.data(), words.data(), text.size());
  return text;
}

std::string json_value(const DecodedNotes::Argument& argument) {
  switch (argument.kind) {
    case ArgumentType::Int:
      return std::to_string(static_cast<std::int64_t>(argument.bits));
    case ArgumentType::Uint:
      return std::to_string(argument.bits);
    case ArgumentType::Double: {
      std::array<char, kMaxJsonNumber> text;
      const double value = std::bit_cast<double>(argument.bits);
      std::string json(text.data(), put_json_number(text.data(), value));
      // "1" would come back as an integer.
      if (json.find_first_not_of("-0123456789") == std::string::npos) json += ".0";
      return json;
    }
    case ArgumentType::Bool:
      return argument.bits != 0 ? "true" : "false";
    case ArgumentType::Text:
    case ArgumentType::Category:
      break;
  }
  return json_string(argument.text);
}

std::string* NoteDecoder::open_text() {
  switch (tail_) {
    case Tail::Name:
      return &out_.names.back().text;
    case Tail::Text:
      return &out_.texts.back().text;
    case Tail::Argument:
      return &out_.arguments.back().text;
    case Tail::None:
    case Tail::Dropped:
      break;
  }
  return nullptr;
}

void NoteDecoder::begin_tail(Tail what, std::uint64_t told, std::uint64_t found) {
  if (open_text() != nullptr && missing_ > 0) ++out_.cut;
  tail_ = what;
  missing_ = told > found ? told - found : 0;
}

void NoteDecoder::text(Tail what, std::uint32_t span, Payload payload) {
  if (span == SpanId::kInvalid) return begin_tail(Tail::Dropped, 0, 0);
  std::string text = bytes_of(payload.subspan(1), payload[0]);
  begin_tail(what, payload[0], text.size());
  (what == Tail::Name ? out_.names : out_.texts).push_back({span, std::move(text)});
}

std::uint64_t NoteDecoder::more_text(Payload payload) {
  if (tail_ == Tail::Dropped) return 0;
  std::string* const text = open_text();
  if (text == nullptr || missing_ == 0) return 1;
  const std::string more = bytes_of(payload, missing_);
  *text += more;
  missing_ -= more.size();
  return 0;
}

std::uint64_t NoteDecoder::arguments(NoteOwner owner, Payload payload) {
  begin_tail(Tail::Dropped, 0, 0);
  if (!owner.valid()) return 0;
  std::uint64_t undecodable = 0;
  while (!payload.empty()) {
    const std::uint64_t head = payload.front();
    payload = payload.subspan(1);
    const std::uint32_t name = names_.find(head & 0xffffffff);
    if (name == 0) ++undecodable;
    const auto kind = static_cast<ArgumentType>((head >> 32) & 0xff);
    switch (kind) {
      case ArgumentType::Int:
      case ArgumentType::Uint:
      case ArgumentType::Double:
        if (payload.empty()) return undecodable + 1;
        if (name != 0) out_.arguments.push_back({owner, name, kind, payload.front(), {}});
        payload = payload.subspan(1);
        break;
      case ArgumentType::Bool:
        if (name != 0) out_.arguments.push_back({owner, name, kind, head >> 40, {}});
        break;
      case ArgumentType::Text:
        payload = payload.subspan(text_argument(owner, name, head >> 40, payload));
        break;
      case ArgumentType::Category:
        if (name != 0) out_.categories.push_back({owner, name});
        break;
      default:  // and it is unknown where the next one begins
        return undecodable + 1;
    }
  }
  return undecodable;
}

std::size_t NoteDecoder::text_argument(NoteOwner owner, std::uint32_t key, std::uint64_t told,
                                       Payload rest) {
  const std::size_t words = std::min<std::size_t>((told + 7) / 8, rest.size());
  std::string text = bytes_of(rest.first(words), told);
  begin_tail(key != 0 ? Tail::Argument : Tail::Dropped, told, text.size());
  if (key != 0) out_.arguments.push_back({owner, key, ArgumentType::Text, 0, std::move(text)});
  return words;
}

DecodedNotes NoteDecoder::finish() {
  forget();
  return std::move(out_);
}

}  // namespace sonde
