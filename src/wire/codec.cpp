// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wire/codec.h"

#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "wire/payload_packing.h"

namespace sonde {

using detail::ExtendedKind;
using detail::WordKind;

namespace {

// A varint for the time and one for the id; a payload word takes up to 10 bytes.
constexpr std::size_t kMaxEncodedWord = 13;

// The records of a piece, whose payloads are stored packed, or as they are in files of version 1.
template <bool IsPacked>
Result<void> decode_records(std::span<const std::uint8_t> bytes, std::uint64_t ticks,
                            WordsOfInputs inputs, std::vector<std::uint64_t>& words) {
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  std::uint64_t* out = words.data();
  std::uint64_t* const last = out + words.size();
  EarlierFields earlier;
  while (out < last) {
    std::uint64_t token = 0;
    std::uint64_t value = 0;
    bool is_whole = take_varint(at, end, token);
    const auto kind = static_cast<WordKind>(token & 3);
    ticks += from_zigzag(token >> 2);
    if (kind != WordKind::End) is_whole = is_whole && take_varint(at, end, value);
    if (!is_whole || value > 0xffff)
      return Failure(ErrorCode::Corrupt, "a piece ends inside a record");
    const std::uint64_t word = detail::make_word(ticks, static_cast<std::uint32_t>(value), kind);
    *out++ = word;
    const std::size_t extra = detail::payload_words(word);
    if (extra == 0) continue;
    if (extra > static_cast<std::size_t>(last - out))
      return Failure(ErrorCode::Corrupt, "a record's payload reaches past its piece");
    PayloadReader in(at, end);
    if (inputs == WordsOfInputs::Skip && detail::extended_kind(word) == ExtendedKind::OpInputs) {
      IsPacked ? in.skip_text(extra) : in.skip(extra);
    } else if constexpr (IsPacked) {
      pack_payload(in, detail::extended_kind(word), out, extra, earlier);
    } else {
      in.raw(out, extra);
    }
    if (!in.ok()) return Failure(ErrorCode::Corrupt, "a piece ends inside a payload");
    at = in.at();
    out += extra;
  }
  return {};
}

}  // namespace

LongVarint read_long_varint(const std::uint8_t* at, const std::uint8_t* end) {
  if (end - at >= 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof(bytes));
    // The highest bits that are not set: the lowest of them is in the last byte.
    if (const std::uint64_t stops = ~bytes & 0x8080808080808080; stops != 0) {
      at += (std::countr_zero(stops) + 1) / 8;
      // Brings its bits together: 7 of each byte, then 14 of each pair, then 28 of each four bytes.
      bytes &= (stops ^ (stops - 1)) & 0x7f7f7f7f7f7f7f7f;
      bytes = (bytes & 0x007f007f007f007f) | ((bytes & 0x7f007f007f007f00) >> 1);
      bytes = (bytes & 0x00003fff00003fff) | ((bytes & 0x3fff00003fff0000) >> 2);
      return {at, (bytes & 0x000000000fffffff) | ((bytes & 0x0fffffff00000000) >> 4)};
    }
  }
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at == end) return {nullptr, value};
    const std::uint8_t byte = *at++;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return {at, value};
  }
  return {nullptr, value};
}

void encode_events(const EventsHead& head, std::span<const std::uint64_t> words,
                   std::vector<std::uint8_t>& out) {
  const std::size_t start = out.size();
  out.resize(start + sizeof(EventsHead) + words.size() * kMaxEncodedWord);
  std::uint8_t* at = out.data() + start;
  EventsHead stored = head;
  stored.first_offset |= kPackedPiece;
  std::memcpy(at, &stored, sizeof(stored));
  at += sizeof(stored);

  std::uint64_t previous = head.base_ticks & detail::kTicksMask;
  EarlierFields earlier;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t word = words[i];
    const WordKind kind = detail::word_kind(word);
    const std::uint64_t ticks = detail::word_ticks(word);
    const auto delta =
        static_cast<std::int64_t>((ticks - previous) << detail::kTicksShift) >> detail::kTicksShift;
    previous = ticks;
    at = put_varint(
        at, to_zigzag(static_cast<std::uint64_t>(delta)) << 2 | static_cast<std::uint64_t>(kind));
    if (kind == WordKind::End) continue;
    at = put_varint(at, detail::word_value(word));
    const std::size_t payload = detail::payload_words(word);
    if (payload == 0) continue;
    PayloadWriter writer(at);
    pack_payload(writer, detail::extended_kind(word), words.data() + i + 1, payload, earlier);
    at = writer.at();
    i += payload;
  }
  out.resize(static_cast<std::size_t>(at - out.data()));
}

Result<EventsHead> read_events_head(std::span<const std::uint8_t> piece) {
  ByteReader in(piece);
  auto head = in.read<EventsHead>();
  if (!in.ok()) return Failure(ErrorCode::Corrupt, "a piece is too short for its header");
  head.first_offset &= ~kPackedPiece;
  return head;
}

Result<EventsHead> decode_events(std::span<const std::uint8_t> piece,
                                 std::vector<std::uint64_t>& words, WordsOfInputs inputs) {
  SONDE_TRY(const EventsHead head, read_events_head(piece));
  if (head.first_offset % 8 != 0 || head.first_offset < detail::kChunkFirstWord ||
      head.first_offset > detail::kChunkBytes ||
      head.word_count > (detail::kChunkBytes - head.first_offset) / 8) {
    return Failure(ErrorCode::Corrupt, "a piece claims more words than a chunk has");
  }
  words.resize(head.word_count);
  const auto stored = ByteReader(piece).read<EventsHead>();
  const std::span<const std::uint8_t> records = piece.subspan(sizeof(EventsHead));
  const std::uint64_t ticks = head.base_ticks & detail::kTicksMask;
  if ((stored.first_offset & kPackedPiece) != 0) {
    SONDE_TRY_VOID(decode_records<true>(records, ticks, inputs, words));
  } else {
    SONDE_TRY_VOID(decode_records<false>(records, ticks, inputs, words));
  }
  return head;
}

std::size_t whole_records(std::span<const std::uint64_t> words) {
  std::size_t at = 0;
  while (at < words.size()) {
    const std::size_t next = at + 1 + detail::payload_words(words[at]);
    if (next > words.size()) break;
    at = next;
  }
  return at;
}

std::uint64_t count_records(std::span<const std::uint64_t> words) {
  std::uint64_t records = 0;
  for (std::size_t i = 0; i < words.size(); i += 1 + detail::payload_words(words[i])) ++records;
  return records;
}

}  // namespace sonde
