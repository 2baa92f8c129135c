// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Builds text fast: one check for room per event, then plain stores.
//
//   TextBuffer out;
//   char* at = out.room(100);
//   at = put(at, "\"ts\": ");
//   at = put_micros(at, 1234567);   // 1234.567
//   out.advance(at);

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/json.h"

namespace sonde {

// A buffer of characters that only grows, until it is cleared.
class TextBuffer {
 public:
  // Returns where at least `bytes` more may be written.
  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return data_.get() + size_;
  }
  // `end` is where writing into room() stopped.
  void advance(const char* end) { size_ = static_cast<std::size_t>(end - data_.get()); }
  void append(std::string_view text) {
    if (text.empty()) return;
    char* at = room(text.size());
    std::memcpy(at, text.data(), text.size());
    advance(at + text.size());
  }
  void clear() { size_ = 0; }
  // The address of the byte at `offset`, valid until the next room().
  char* at(std::size_t offset) { return data_.get() + offset; }
  std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - data_.get()); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view text() const { return {data_.get(), size_}; }

 private:
  void grow(std::size_t bytes) {
    std::size_t capacity = capacity_ < 4096 ? 4096 : 2 * capacity_;
    if (capacity < size_ + bytes) capacity = size_ + bytes;
    auto data = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
    data_ = std::move(data);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

template <std::size_t N>
inline char* put(char* at, const char (&literal)[N]) {
  std::memcpy(at, literal, N - 1);
  return at + (N - 1);
}

// Most texts are short, and a call to memcpy costs more than these few moves.
inline char* put(char* at, std::string_view text) {
  const std::size_t size = text.size();
  const char* from = text.data();
  if (size > 64 || size < 8) {
    if (size >= 8) {
      std::memcpy(at, from, size);
    } else {
      for (std::size_t i = 0; i < size; ++i) at[i] = from[i];
    }
  } else if (size <= 16) {
    std::memcpy(at, from, 8);
    std::memcpy(at + size - 8, from + size - 8, 8);
  } else {
    std::memcpy(at, from, 16);
    if (size > 32) {
      std::memcpy(at + 16, from + 16, 16);
      std::memcpy(at + size - 32, from + size - 32, 16);
    }
    std::memcpy(at + size - 16, from + size - 16, 16);
  }
  return at + size;
}

// "00" "01" … "99"
inline constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

inline void put_pair(char* at, std::uint32_t below_100) {
  std::memcpy(at, &kDigitPairs[std::size_t{2} * below_100], 2);
}

inline unsigned decimal_digits(std::uint64_t value) {
  constexpr auto kPowers = [] {
    std::array<std::uint64_t, 20> powers{};
    std::uint64_t power = 1;
    for (std::size_t i = 1; i < 20; ++i) powers[i] = power *= 10;
    return powers;
  }();
  // 1233 / 4096 is just above log10(2).
  const auto guess = static_cast<unsigned>(std::bit_width(value | 1) * 1233 >> 12);
  return guess + (value >= kPowers[guess] ? 1 : 0);
}

inline char* put_unsigned(char* at, std::uint64_t value) {
  if (value < 10) {
    *at = static_cast<char>('0' + value);
    return at + 1;
  }
  char* const end = at + decimal_digits(value);
  char* to = end;
  while (value > 0xffffffff) {
    put_pair(to -= 2, static_cast<std::uint32_t>(value % 100));
    value /= 100;
  }
  auto rest = static_cast<std::uint32_t>(value);
  for (; rest >= 100; rest /= 100) put_pair(to -= 2, rest % 100);
  if (rest >= 10) {
    put_pair(to - 2, rest);
  } else {
    to[-1] = static_cast<char>('0' + rest);
  }
  return end;
}

inline char* put_integer(char* at, std::int64_t value) {
  if (value >= 0) return put_unsigned(at, static_cast<std::uint64_t>(value));
  *at = '-';
  return put_unsigned(at + 1, 0 - static_cast<std::uint64_t>(value));
}

// Writes exactly `Digits` digits of a value that has no more.
template <int Digits>
inline char* put_padded(char* at, std::uint32_t value) {
  char* to = at + Digits;
  for (int left = Digits; left >= 2; left -= 2) {
    put_pair(to -= 2, value % 100);
    value /= 100;
  }
  if (Digits % 2 == 1) *at = static_cast<char>('0' + value);
  return at + Digits;
}

// Microseconds with three decimals: "-0.001", "1234.567".
inline char* put_micros(char* at, std::int64_t nanos) {
  auto size = static_cast<std::uint64_t>(nanos);
  if (nanos < 0) {
    *at++ = '-';
    size = 0 - size;
  }
  at = put_unsigned(at, size / 1000);
  *at++ = '.';
  return put_padded<3>(at, static_cast<std::uint32_t>(size % 1000));
}

// Writes the microseconds of times that follow each other. The seconds are rendered only when they
// change.
class MicrosText {
 public:
  char* put(char* at, std::int64_t nanos) {
    if (nanos < kSecond) return put_micros(at, nanos);
    const std::int64_t seconds = nanos / kSecond;
    if (seconds != seconds_) render(seconds);
    std::memcpy(at, head_.data(), head_.size());
    const auto rest = static_cast<std::uint32_t>(nanos - seconds * kSecond);
    at = put_padded<6>(at + head_size_, rest / 1000);
    *at++ = '.';
    return put_padded<3>(at, rest % 1000);
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  void render(std::int64_t seconds) {
    seconds_ = seconds;
    head_size_ = static_cast<std::size_t>(put_integer(head_.data(), seconds) - head_.data());
  }
  std::int64_t seconds_ = -1;
  std::size_t head_size_ = 0;
  std::array<char, 16> head_{};
};

inline constexpr std::size_t kMaxNumberBytes = kMaxJsonNumber;

inline char* put_double(char* at, double value) {
  return put_json_number(at, value);
}

}  // namespace sonde
