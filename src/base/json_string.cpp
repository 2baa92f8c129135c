// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/json_string.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/json.h"
#include "base/utf8.h"

namespace sonde {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    const bool is_digit = c >= '0' && c <= '9';
    const char letter = static_cast<char>(c | 0x20);
    if (!is_digit && (letter < 'a' || letter > 'f')) return std::nullopt;
    value = value << 4 | static_cast<std::uint32_t>(is_digit ? c - '0' : letter - 'a' + 10);
  }
  return value;
}

class JsonStringDecoder {
 public:
  explicit JsonStringDecoder(std::string_view raw) : raw_(raw) { out_.reserve(raw.size()); }

  std::string decode() {
    while (at_ < raw_.size()) {
      if (raw_[at_] == '\\') {
        escape();
      } else {
        character();
      }
    }
    return std::move(out_);
  }

  // The first fault in the decoded text.
  std::size_t first_fault() const { return first_fault_; }

 private:
  void fault() { first_fault_ = std::min(first_fault_, at_); }

  void character() {
    const std::size_t bytes = utf8_sequence(raw_.substr(at_));
    if (bytes == 0 || static_cast<unsigned char>(raw_[at_]) < 0x20) fault();
    out_ += bytes == 0 ? kReplacement : raw_.substr(at_, bytes);
    at_ += std::max<std::size_t>(bytes, 1);
  }

  void escape() {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char name = at_ + 1 < raw_.size() ? raw_[at_ + 1] : '\0';
    const std::size_t which = kNames.find(name);
    const std::optional<std::uint32_t> code = name == 'u' ? hex4(raw_, at_ + 2) : std::nullopt;
    if (name != '\0' && which != std::string_view::npos) {
      out_ += kMeanings[which];
      at_ += 2;
    } else if (code) {
      code_point(*code);
    } else {
      fault();
      out_ += '\\';  // a backslash that was not doubled
      ++at_;
    }
  }

  void code_point(std::uint32_t code) {
    const std::size_t escape = at_;
    at_ += 6;
    if (code >= 0xD800 && code < 0xDC00 && raw_.substr(at_, 2) == "\\u") {
      const std::optional<std::uint32_t> low = hex4(raw_, at_ + 2);
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (*low - 0xDC00);
        at_ += 6;
      }
    }
    if (code >= 0xD800 && code < 0xE000) {
      first_fault_ = std::min(first_fault_, escape);
      out_ += kReplacement;
    } else {
      append_utf8(out_, code);
    }
  }

  std::string_view raw_;
  std::size_t at_ = 0;
  std::size_t first_fault_ = std::string_view::npos;
  std::string out_;
};

// Whether plain char has a sign depends on the processor: it has none on AArch64.
bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

// Bytes that need no check: printable ASCII except the backslash.
bool is_harmless(char c) {
  return is_ascii(c) && c >= 0x20 && c != '\\';
}

}  // namespace

bool is_plain_json_string(std::string_view raw) {
  return std::all_of(raw.begin(), raw.end(), [](char c) { return is_ascii(c) && c != '\\'; });
}

std::size_t json_string_fault(std::string_view raw) {
  if (std::all_of(raw.begin(), raw.end(), is_harmless)) return std::string_view::npos;
  JsonStringDecoder decoder(raw);
  decoder.decode();
  return decoder.first_fault();
}

std::string decode_json_string(std::string_view raw) {
  if (is_plain_json_string(raw)) return std::string(raw);
  return JsonStringDecoder(raw).decode();
}

std::string valid_json(std::string_view text) {
  if (validate_json(text)) return std::string(text);
  const bool is_string = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return json_string(decode_json_string(is_string ? text.substr(1, text.size() - 2) : text));
}

}  // namespace sonde
