// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How the payload words of frequent records are stored in a piece: as varints. Most are differences
// to the same field of an earlier record, because addresses, sums and numbers change little from
// one record to the next. Other records keep their words, 8 bytes each.
//
// pack_payload() defines the format for both directions: its first argument either writes the words
// that it is given or fills them with what it reads.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sonde/detail/words.h"

namespace sonde {

inline std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

// Like ByteReader::varint(). `at` is where it ends, null if the bytes end inside of it. By value,
// so that the loop around it can keep its place in a register.
struct LongVarint {
  const std::uint8_t* at;
  std::uint64_t value;
};
LongVarint read_long_varint(const std::uint8_t* at, const std::uint8_t* end);

// Moves `at`. False if the bytes end inside the varint.
[[gnu::always_inline]] inline bool take_varint(const std::uint8_t*& at, const std::uint8_t* end,
                                               std::uint64_t& value) {
  if (at < end && *at < 0x80) {
    value = *at++;
    return true;
  }
  if (end - at >= 2 && at[1] < 0x80) {
    value = (at[0] & 0x7fu) | static_cast<std::uint64_t>(at[1]) << 7;
    at += 2;
    return true;
  }
  const LongVarint read = read_long_varint(at, end);
  value = read.value;
  if (read.at == nullptr) return false;
  at = read.at;
  return true;
}

constexpr std::uint64_t to_zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t from_zigzag(std::uint64_t zigzag) {
  return (zigzag >> 1) ^ (0 - (zigzag & 1));
}

class PayloadWriter {
 public:
  explicit PayloadWriter(std::uint8_t* at) : at_(at) {}
  std::uint8_t* at() const { return at_; }
  static constexpr bool ok() { return true; }

  void number(const std::uint64_t& word) { at_ = put_varint(at_, word); }
  void near(const std::uint64_t& word, std::uint64_t other) { number(to_zigzag(word - other)); }
  // Two numbers of 32 bits.
  void halves_near(const std::uint64_t& word, std::uint64_t other) {
    half_near(word, other);
    half_near(word >> 32, other >> 32);
  }
  void raw(const std::uint64_t* words, std::size_t count) {
    std::memcpy(at_, words, count * 8);
    at_ += count * 8;
  }
  // A length in bytes, then the bytes padded with zeros. Anything else is stored unchanged.
  void text(const std::uint64_t* words, std::size_t count) {
    const std::uint64_t bytes = words[0];
    const bool is_text = is_text_of(bytes, count) && is_padded(words, bytes, count);
    number(is_text ? bytes << 1 : 1);
    if (!is_text) return raw(words, count);
    std::memcpy(at_, words + 1, bytes);
    at_ += bytes;
  }

  // Whether so many bytes fill the words after the first one.
  static bool is_text_of(std::uint64_t bytes, std::size_t count) {
    return bytes <= 8 * std::uint64_t{detail::kMaxPayloadWords} && (bytes + 7) / 8 + 1 == count;
  }

 private:
  void half_near(std::uint64_t half, std::uint64_t other) {
    const auto difference = static_cast<std::int32_t>(static_cast<std::uint32_t>(half - other));
    number(to_zigzag(static_cast<std::uint64_t>(std::int64_t{difference})));
  }
  static bool is_padded(const std::uint64_t* words, std::uint64_t bytes, std::size_t count) {
    return bytes % 8 == 0 || words[count - 1] >> (bytes % 8 * 8) == 0;
  }

  std::uint8_t* at_;
};

// Reads any bytes; ok() is false once they have ended too early or made no sense.
class PayloadReader {
 public:
  PayloadReader(const std::uint8_t* at, const std::uint8_t* end) : at_(at), end_(end) {}
  const std::uint8_t* at() const { return at_; }
  bool ok() const { return ok_; }

  void number(std::uint64_t& word) { ok_ = take_varint(at_, end_, word) && ok_; }
  void near(std::uint64_t& word, std::uint64_t other) {
    number(word);
    word = other + from_zigzag(word);
  }
  void halves_near(std::uint64_t& word, std::uint64_t other) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    number(low);
    number(high);
    low = (other + from_zigzag(low)) & 0xffffffff;
    word = low | ((other >> 32) + from_zigzag(high)) << 32;
  }
  void raw(std::uint64_t* words, std::size_t count) {
    if (count * 8 > left()) return fail();
    std::memcpy(words, at_, count * 8);
    at_ += count * 8;
  }
  void skip(std::size_t words) {
    if (words * 8 > left()) return fail();
    at_ += words * 8;
  }
  // Passes over what text() reads.
  void skip_text(std::size_t count) {
    std::uint64_t length = 0;
    number(length);
    const std::uint64_t bytes = (length & 1) != 0 ? std::uint64_t{count} * 8 : length >> 1;
    if (bytes > left()) return fail();
    at_ += bytes;
  }
  void text(std::uint64_t* words, std::size_t count) {
    number(words[0]);
    if ((words[0] & 1) != 0) return raw(words, count);
    words[0] >>= 1;
    if (!PayloadWriter::is_text_of(words[0], count) || words[0] > left()) return fail();
    if (count > 1) words[count - 1] = 0;
    std::memcpy(words + 1, at_, words[0]);
    at_ += words[0];
  }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  void fail() { ok_ = false; }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

// What differences are taken from: the last values in this piece, all 0 at its beginning.
struct EarlierFields {
  std::uint64_t numbers = 0;  // of an OpShort
  std::uint64_t sequence_number = 0;
  std::uint64_t record_function = 0;
  std::uint64_t address = 0;
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;
  std::uint64_t device = 0;
  std::uint64_t tensor = 0;
  std::uint64_t storage = 0;
  std::uint64_t position = 0;
  std::uint64_t correlation = 0;
};

// `words` are the payload of a record, `count` of them and at least one: const where they are
// written.
template <typename Io, typename Word>
[[gnu::always_inline]] inline void pack_payload(Io& io, detail::ExtendedKind kind, Word* words,
                                                std::size_t count, EarlierFields& earlier) {
  using detail::ExtendedKind;
  const auto near_last = [&io](Word& word, std::uint64_t& last) {
    io.near(word, last);
    last = word;
  };
  std::size_t packed = 0;
  switch (kind) {
    case ExtendedKind::OpShort:
      if (count < 2) break;
      io.number(words[0]);
      io.halves_near(words[1], earlier.numbers);
      earlier.numbers = words[1];
      packed = 2;
      break;
    case ExtendedKind::OpBegin:
    case ExtendedKind::OpRange:
      io.number(words[0]);
      if (count > 1) near_last(words[1], earlier.sequence_number);
      if (count > 2) io.number(words[2]);
      if (count > 3) near_last(words[3], earlier.record_function);
      packed = count < 4 ? count : 4;
      break;
    case ExtendedKind::Allocation:
      if (count < 5) break;
      near_last(words[0], earlier.address);
      io.near(words[1], 0);
      io.near(words[2], earlier.allocated + words[1]);
      earlier.allocated = words[2];
      near_last(words[3], earlier.reserved);
      near_last(words[4], earlier.device);
      packed = 5;
      break;
    case ExtendedKind::OpTensors:
      for (; packed + 3 <= count; packed += 3) {
        io.halves_near(words[packed], 0);
        near_last(words[packed + 1], earlier.tensor);
        near_last(words[packed + 2], earlier.storage);
      }
      break;
    case ExtendedKind::OpPlace:
      io.halves_near(words[0], 0);
      packed = 1;
      break;
    case ExtendedKind::EndRange:
      near_last(words[0], earlier.position);
      packed = 1;
      break;
    case ExtendedKind::ApiBegin:
      if (count < 2) break;
      io.number(words[0]);
      near_last(words[1], earlier.correlation);
      packed = 2;
      break;
    case ExtendedKind::BeginWide:
    case ExtendedKind::BeginRange:
    case ExtendedKind::Instant:
    case ExtendedKind::Counter:
    case ExtendedKind::FlowOut:
    case ExtendedKind::FlowIn:
      io.number(words[0]);
      packed = 1;
      break;
    case ExtendedKind::Text:
    case ExtendedKind::RangeInline:
    case ExtendedKind::OpInputs:
      io.text(words, count);
      return;
    default:
      break;
  }
  if (packed < count) io.raw(words + packed, count - packed);
}

}  // namespace sonde
