// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/json/json_number.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace sonde {

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

template <typename T>
std::optional<T> whole(std::string_view token) {
  T value{};
  const char* end = token.end();
  const auto [after, error] = std::from_chars(token.begin(), end, value);
  if (error != std::errc() || after != end || token.empty()) return std::nullopt;
  return value;
}

// A decimal number taken apart: digits before and after the point, and the exponent.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
  std::int64_t exponent = 0;
  bool negative = false;

  std::int64_t digits() const { return static_cast<std::int64_t>(whole.size() + fraction.size()); }
  unsigned digit(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    const char c = at < whole.size() ? whole[at] : fraction[at - whole.size()];
    return static_cast<unsigned>(c - '0');
  }
};

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> exponent_of(std::string_view text) {
  if (text.empty()) return 0;
  if (!take(text, 'e') && !take(text, 'E')) return std::nullopt;
  take(text, '+');
  const std::optional<std::int64_t> exponent = whole<std::int64_t>(text);
  // Far beyond what any number of digits can make up for.
  if (!exponent || *exponent > 1'000'000'000 || *exponent < -1'000'000'000) return std::nullopt;
  return exponent;
}

std::optional<Decimal> to_decimal(std::string_view text) {
  Decimal decimal;
  decimal.negative = take(text, '-');
  decimal.whole = take_digits(text);
  if (take(text, '.')) decimal.fraction = take_digits(text);
  if (decimal.digits() == 0) return std::nullopt;
  const std::optional<std::int64_t> exponent = exponent_of(text);
  if (!exponent) return std::nullopt;
  decimal.exponent = *exponent;
  return decimal;
}

// The digits before position `point`, rounded by the digit at it.
bool rounded(const Decimal& decimal, std::int64_t point, std::uint64_t& value) {
  value = 0;
  for (std::int64_t i = 0; i < point; ++i) {
    if (i >= decimal.digits() && value == 0) return true;
    const unsigned digit = i < decimal.digits() ? decimal.digit(i) : 0;
    if (value > (kMost - digit) / 10) return false;
    value = value * 10 + digit;
  }
  const bool up = point >= 0 && point < decimal.digits() && decimal.digit(point) >= 5;
  if (up && value == kMost) return false;
  value += up ? 1 : 0;
  return true;
}

}  // namespace

std::optional<std::int64_t> to_integer(std::string_view token) {
  return whole<std::int64_t>(token);
}

std::optional<std::uint64_t> to_unsigned(std::string_view token) {
  return whole<std::uint64_t>(token);
}

std::optional<double> to_double(std::string_view token) {
  const std::optional<double> value = whole<double>(token);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

bool micros_to_nanos(std::string_view token, std::int64_t& nanos) {
  if (is_quoted(token)) token = unquoted(token);
  const std::optional<Decimal> decimal = to_decimal(token);
  if (!decimal) return false;
  const std::int64_t point =
      static_cast<std::int64_t>(decimal->whole.size()) + decimal->exponent + 3;
  std::uint64_t value = 0;
  if (!rounded(*decimal, point, value)) return false;
  nanos = decimal->negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return true;
}

}  // namespace sonde
