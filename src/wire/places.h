// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How places in code are written in the dictionary: a letter, then fields separated by a byte 0x1f.
//
//   F function, file, line                a frame whose names are known
//   P function, file, line                the same of Python code
//   A binary, build id, offset            a frame that is still an address, with a hexadecimal offset
//   S id,id,…                             a stack of such frames, innermost first
//   M parent id, name, class, method      a module
//
// The ids are those of other places, which come earlier. A name that holds a 0x1f is cut there.

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "wire/dictionary.h"

namespace sonde {

inline constexpr char kPlaceSeparator = '\x1f';
inline constexpr std::size_t kMaxStackFrames = 256;

enum class PlaceKind : char {
  Frame = 'F',
  Python = 'P',
  Address = 'A',
  Stack = 'S',
  Module = 'M',
};

// Writes a place's text without allocating.
class PlaceText {
 public:
  explicit PlaceText(PlaceKind kind) { bytes_[size_++] = static_cast<char>(kind); }
  // Long texts lose their beginning: the end of a path is the more useful part.
  PlaceText& text(const char* text) {
    const std::string_view whole(text, ::strcspn(text, "\x1f"));
    separate();
    const std::string_view kept =
        whole.substr(whole.size() > kMaxField ? whole.size() - kMaxField : 0);
    std::memcpy(bytes_.data() + size_, kept.data(), kept.size());
    size_ += kept.size();
    return *this;
  }
  PlaceText& number(std::uint64_t value, int base = 10, char before = kPlaceSeparator) {
    separate(before);
    char* const begin = bytes_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(begin, begin + 20, value, base).ptr - begin);
    return *this;
  }
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  static constexpr std::size_t kMaxField = 1200;
  void separate(char with = kPlaceSeparator) {
    if (size_ > 1) bytes_[size_++] = with;
  }
  // Three fields, or the ids of kMaxStackFrames frames.
  std::array<char, 4096> bytes_;
  std::size_t size_ = 0;
};

// Parses a place's text.
class PlaceFields {
 public:
  explicit PlaceFields(std::string_view text) : rest_(text.substr(text.empty() ? 0 : 1)) {}
  std::string_view text(char until = kPlaceSeparator) {
    const std::size_t end = rest_.find(until);
    const std::string_view field = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    return field;
  }
  // 0 if it is not a number.
  std::uint64_t number(int base = 10, char until = kPlaceSeparator) {
    const std::string_view field = text(until);
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(field.data(), field.data() + field.size(), value, base);
    return error == std::errc() && end == field.data() + field.size() ? value : 0;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace sonde
