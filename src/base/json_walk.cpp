// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/json_walk.h"

#include <charconv>

#include "base/json_string.h"
#include "base/utf8.h"

namespace sonde {

char JsonWalk::next() {
  while (at_ < text_.size() &&
         std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
    ++at_;
  return peek();
}

bool JsonWalk::take(char wanted) {
  if (next() != wanted || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

bool JsonWalk::open(char bracket) {
  if (!take(bracket)) return false;
  return ++depth_ <= kMaxDepth || wrong("nested too deeply");
}

bool JsonWalk::close(char bracket) {
  if (!take(bracket)) return false;
  --depth_;
  return true;
}

bool JsonWalk::wrong(const char* what) {
  if (wrong_ == nullptr) {
    wrong_ = what;
    wrong_at_ = at_;
  }
  return false;
}

Failure JsonWalk::failure() const {
  const std::string what = wrong_ == nullptr ? "unexpected value" : wrong_;
  return {ErrorCode::Invalid,
          "not JSON: " + what + " at byte " + std::to_string(wrong_ == nullptr ? at_ : wrong_at_)};
}

bool JsonWalk::at_end() {
  next();
  return at_ == text_.size() || wrong("unexpected text after the value");
}

bool JsonWalk::skip() {  // NOLINT(misc-no-recursion): bounded by kMaxDepth
  switch (next()) {
    case '{':
      return object([this](std::string_view) { return skip(); });
    case '[':
      return array([this] { return skip(); });
    case '"':
      return raw_string().has_value();
    case 't':
      return word("true");
    case 'f':
      return word("false");
    case 'n':
      return word("null");
    default:
      return raw_number().has_value();
  }
}

std::optional<std::string_view> JsonWalk::any() {
  next();
  const std::size_t begin = at_;
  if (!skip()) return std::nullopt;
  return text_.substr(begin, at_ - begin);
}

bool JsonWalk::word(std::string_view expected) {
  if (text_.substr(at_, expected.size()) != expected) return wrong("unknown word");
  at_ += expected.size();
  return true;
}

std::optional<std::string> JsonWalk::string() {
  if (next() != '"') return std::nullopt;
  const std::optional<std::string_view> raw = raw_string();
  if (!raw) return std::nullopt;
  return decode_json_string(*raw);
}

std::optional<std::string_view> JsonWalk::key(std::string& decoded) {
  if (next() != '"') {
    wrong("a key must be a string");
    return std::nullopt;
  }
  const std::optional<std::string_view> raw = raw_string();
  if (!raw) return std::nullopt;
  if (!take(':')) {
    wrong("':' is missing");
    return std::nullopt;
  }
  if (is_plain_json_string(*raw)) return raw;
  decoded = decode_json_string(*raw);
  return decoded;
}

// The text between the quotes, of which the first is next.
std::optional<std::string_view> JsonWalk::raw_string() {
  const std::size_t first = ++at_;
  const char* fault = "unterminated string";
  while (at_ < text_.size()) {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '"') return text_.substr(first, at_++ - first);
    if (c == '\\') {
      if (!escape()) return std::nullopt;
      continue;
    }
    const std::size_t length = c < 0x20 ? 0 : utf8_sequence(text_.substr(at_));
    if (length == 0) {
      fault = c < 0x20 ? "control character in a string" : "ill-formed UTF-8";
      break;
    }
    at_ += length;
  }
  wrong(fault);
  return std::nullopt;
}

bool JsonWalk::escape() {
  ++at_;
  const char kind = peek();
  if (kind == 'u') {
    const std::string_view digits = text_.substr(at_ + 1, 4);
    if (digits.size() < 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      return wrong("\\u needs four hexadecimal digits");
    at_ += 5;
    return true;
  }
  if (kind == '\0' || std::string_view("\"\\/bfnrt").find(kind) == std::string_view::npos)
    return wrong("unknown escape");
  ++at_;
  return true;
}

bool JsonWalk::digits() {
  const std::size_t first = at_;
  while (peek() >= '0' && peek() <= '9') ++at_;
  return at_ > first;
}

// The text of the number that is next.
std::optional<std::string_view> JsonWalk::raw_number() {
  const std::size_t first = at_;
  const auto fails = [this](const char* what) {
    wrong(what);
    return std::nullopt;
  };
  if (peek() == '-') ++at_;
  if (peek() == '0') {
    ++at_;
  } else if (!digits()) {
    return fails("a value is missing");
  }
  if (peek() == '.') {
    ++at_;
    if (!digits()) return fails("a digit must follow '.'");
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    if (!digits()) return fails("an exponent has no digits");
  }
  return text_.substr(first, at_ - first);
}

template <typename T>
std::optional<T> JsonWalk::parsed() {
  const char first = next();
  if (first != '-' && (first < '0' || first > '9')) return std::nullopt;
  const std::size_t begin = at_;
  const std::optional<std::string_view> raw = raw_number();
  if (!raw) return std::nullopt;
  T value{};
  const char* const first_digit = &*raw->begin();
  const char* const end = first_digit + raw->size();
  const auto [stopped, error] = std::from_chars(first_digit, end, value);
  if (error == std::errc() && stopped == end) return value;
  at_ = begin;
  return std::nullopt;
}

std::optional<std::int64_t> JsonWalk::integer() {
  return parsed<std::int64_t>();
}

std::optional<double> JsonWalk::number() {
  return parsed<double>();
}

}  // namespace sonde
