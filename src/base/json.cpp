// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

namespace sonde {
namespace {

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  Result<void> run() {
    skip_space();
    SONDE_TRY_VOID(value(0));
    skip_space();
    if (at_ != text_.size()) return wrong("unexpected text after the value");
    return {};
  }

 private:
  static constexpr int kMaxDepth = 1000;

  Failure wrong(const char* what) const {
    return {ErrorCode::Invalid,
            "not JSON: " + std::string(what) + " at byte " + std::to_string(at_)};
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool digits() {
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > first;
  }

  Result<void> value(int depth) {  // NOLINT(misc-no-recursion): bounded by kMaxDepth
    if (depth > kMaxDepth) return wrong("nested too deeply");
    switch (peek()) {
      case '{':
        return members(depth, '}', true);
      case '[':
        return members(depth, ']', false);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  Result<void> members(int depth, char close, bool keyed) {  // NOLINT(misc-no-recursion)
    ++at_;
    skip_space();
    if (take(close)) return {};
    for (;;) {
      skip_space();
      if (keyed) {
        if (peek() != '"') return wrong("a key must be a string");
        SONDE_TRY_VOID(string());
        skip_space();
        if (!take(':')) return wrong("':' is missing");
        skip_space();
      }
      SONDE_TRY_VOID(value(depth + 1));
      skip_space();
      if (take(close)) return {};
      if (!take(',')) return wrong(keyed ? "',' or '}' is missing" : "',' or ']' is missing");
    }
  }

  Result<void> string() {
    ++at_;
    for (;;) {
      if (at_ >= text_.size()) return wrong("unterminated string");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return {};
      }
      if (c < 0x20) return wrong("control character in a string");
      if (c == '\\') {
        ++at_;
        if (peek() == 'u') {
          for (int i = 1; i <= 4; ++i) {
            const std::size_t k = at_ + static_cast<std::size_t>(i);
            if (k >= text_.size() || std::string_view("0123456789abcdefABCDEF").find(text_[k]) ==
                                         std::string_view::npos) {
              return wrong("\\u needs four hexadecimal digits");
            }
          }
          at_ += 5;
        } else if (at_ < text_.size() &&
                   std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos) {
          ++at_;
        } else {
          return wrong("unknown escape");
        }
        continue;
      }
      const std::size_t length = utf8_sequence(text_.substr(at_));
      if (length == 0) return wrong("ill-formed UTF-8");
      at_ += length;
    }
  }

  Result<void> word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return wrong("unknown word");
    at_ += expected.size();
    return {};
  }

  Result<void> number() {
    take('-');
    if (!take('0') && !digits()) return wrong("a value is missing");
    if (take('.') && !digits()) return wrong("a digit must follow '.'");
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (!take('+')) take('-');
      if (!digits()) return wrong("an exponent has no digits");
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
      out.push_back(static_cast<char>(c));
      ++i;
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(static_cast<char>(c));
      ++i;
    } else if (c == '\n') {
      out += "\\n";
      ++i;
    } else if (c == '\t') {
      out += "\\t";
      ++i;
    } else if (c == '\r') {
      out += "\\r";
      ++i;
    } else if (c < 0x20 || c == 0x7f) {
      out += "\\u00";
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
      ++i;
    } else if (const std::size_t length = utf8_sequence(text.substr(i)); length > 0) {
      out.append(text.substr(i, length));
      i += length;
    } else {
      out += "\xef\xbf\xbd";
      ++i;
    }
  }
  out.push_back('"');
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

char* put_json_number(char* at, double value) {
  const auto put = [at](std::string_view text) { return std::copy(text.begin(), text.end(), at); };
  if (std::isnan(value)) return put("\"NaN\"");
  if (std::isinf(value)) return value > 0 ? put("\"inf\"") : put("\"-inf\"");
  return std::to_chars(at, at + kMaxJsonNumber, value).ptr;
}

Result<void> validate_json(std::string_view text) {
  return Checker(text).run();
}

}  // namespace sonde
