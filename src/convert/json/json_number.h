// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads the numbers of JSON text exactly: integers as integers, and times in microseconds as
// nanoseconds without a detour through floating point.
//
//   std::int64_t ns = 0;
//   micros_to_nanos("3848419624188.359", ns);   // 3848419624188359

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "convert/json/json_text.h"

namespace sonde {

inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

// An integer at `at`, and the position after it. `is_integer` is false for anything else: a
// fraction, an exponent, more than 64 bits, not a number.
struct JsonInteger {
  std::int64_t value = 0;
  const char* end = nullptr;
  bool is_integer = false;
};

namespace detail {

inline std::uint64_t load_digits(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// How many of the eight bytes are digits, counted from the first.
inline unsigned leading_digits(std::uint64_t word) {
  const std::uint64_t off = word ^ 0x3030303030303030;  // digits become 0 to 9
  const std::uint64_t other = (off | (off + 0x7676767676767676)) & 0x8080808080808080;
  return static_cast<unsigned>(std::countr_zero(other)) / 8;
}

// The number formed by the first `digits` (1 to 8) bytes.
inline std::uint64_t small_number(std::uint64_t word, unsigned digits) {
  word = (word << (64 - 8 * digits)) & 0x0f0f0f0f0f0f0f0f;
  word = word * 10 + (word >> 8);
  return (((word & 0x000000ff000000ff) * 0x000f424000000064) +
          (((word >> 16) & 0x000000ff000000ff) * 0x0000271000000001)) >>
         32;
}

}  // namespace detail

// Reads up to 16 digits at `at` as a number; returns the position after them.
inline const char* scan_digits(const char* at, std::uint64_t& value) {
  constexpr std::uint64_t kPowers[] = {1,      10,      100,      1000,     10000,
                                       100000, 1000000, 10000000, 100000000};
  std::uint64_t word = detail::load_digits(at);
  unsigned digits = detail::leading_digits(word);
  value = digits == 0 ? 0 : detail::small_number(word, digits);
  at += digits;
  if (digits < 8) return at;
  word = detail::load_digits(at);
  digits = detail::leading_digits(word);
  if (digits > 0) value = value * kPowers[digits] + detail::small_number(word, digits);
  return at + digits;
}

inline JsonInteger scan_integer(const char* at) {
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  const char* first = at;
  std::uint64_t value = 0;
  at = scan_digits(at, value);
  for (; is_digit(*at); ++at) {
    if (at - first >= 18) return {0, token_end(at), false};
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  if (*at == '.' || (*at | 0x20) == 'e' || at == first) return {0, token_end(at), false};
  const auto magnitude = static_cast<std::int64_t>(value);
  return {negative ? -magnitude : magnitude, at, true};
}

// Reads a whole token, also with 19 digits; nothing if it is not an integer of 64 bits.
std::optional<std::int64_t> to_integer(std::string_view token);
std::optional<std::uint64_t> to_unsigned(std::string_view token);
// Reads a whole number that is not negative. False if it is not one, or if `out` cannot hold it.
template <typename Number>
bool to_count(std::string_view token, Number& out) {
  const std::optional<std::int64_t> number = to_integer(token);
  if (!number || *number < 0 || *number > std::numeric_limits<Number>::max()) return false;
  out = static_cast<Number>(*number);
  return true;
}
// Nothing if it is not a finite number.
std::optional<double> to_double(std::string_view token);

// Converts a number of microseconds, plain or in a string, to the nearest nanosecond. False if it
// is not a number or does not fit in 64 bits.
bool micros_to_nanos(std::string_view token, std::int64_t& nanos);

// The same for the token at `at`, fast for what Kineto writes; returns the position after it.
inline const char* scan_micros(const char* at, const char* end, std::int64_t& nanos, bool& valid) {
  const char* first = at;
  std::uint64_t value = 0;
  at = scan_digits(at, value);
  const auto digits = at - first;
  const bool has_three = at[0] == '.' && is_digit(at[1]) && is_digit(at[2]) && is_digit(at[3]) &&
                         !is_digit(at[4]) && (at[4] | 0x20) != 'e';
  if (digits > 0 && digits < 15 && has_three) {
    value = value * 1000 +
            static_cast<std::uint64_t>((at[1] - '0') * 100 + (at[2] - '0') * 10 + (at[3] - '0'));
    nanos = static_cast<std::int64_t>(value);
    valid = true;
    return at + 4;
  }
  const char* failed_at = nullptr;
  const char* after = value_end(first, end, &failed_at);
  if (after == nullptr) return nullptr;
  valid = micros_to_nanos({first, static_cast<std::size_t>(after - first)}, nanos);
  return after;
}

}  // namespace sonde
