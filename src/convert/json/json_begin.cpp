// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/json/json_begin.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace sonde {
namespace {

// What a file that is not a trace seems to be; empty if nothing is known about it.
std::string_view look_of(std::string_view text) {
  struct Look {
    std::string_view begin;
    std::string_view what;
  };
  static constexpr Look kLooks[] = {
      {"SQLite format 3", "an SQLite database"},
      {"PK\x03\x04", "a zip archive"},
      {"\x28\xB5\x2F\xFD", "data compressed with zstd"},
      {"\xFD"
       "7zXZ",
       "data compressed with xz"},
      {"BZh", "data compressed with bzip2"},
      {"\x7F"
       "ELF",
       "a program"},
      {"\x89PNG", "a picture"},
      {"%PDF", "a PDF document"},
      {"\xFF\xFE", "text in UTF-16 (Sonde reads UTF-8)"},
      {"\xFE\xFF", "text in UTF-16 (Sonde reads UTF-8)"},
      {"<", "an HTML or XML page"},
  };
  for (const Look& look : kLooks) {
    if (text.starts_with(look.begin)) return look.what;
  }
  const std::string_view head = text.substr(0, 512);
  const bool is_binary = std::any_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && std::isspace(static_cast<unsigned char>(c)) == 0;
  });
  return is_binary ? "binary data" : "text that is not JSON";
}

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace

std::string_view json_begin(std::string_view text) {
  const std::string_view rest = without_space(text);
  return rest.starts_with("\xEF\xBB\xBF") ? without_space(rest.substr(3)) : rest;
}

Result<void> check_json_begin(std::string_view text) {
  const std::string_view rest = json_begin(text);
  if (rest.empty() || rest.front() == '{' || rest.front() == '[') return {};
  return Failure(ErrorCode::Invalid, "not a trace; it looks like " + std::string(look_of(rest)) +
                                         " at byte " + std::to_string(rest.data() - text.data()));
}

Result<bool> may_be_json(std::string_view begin) {
  constexpr std::size_t kEnough = 512;                      // how much check_json_begin() needs
  constexpr std::size_t kMostSpace = std::size_t{1} << 20;  // searched again each time
  if (json_begin(begin).size() < kEnough) return begin.size() >= kMostSpace;
  SONDE_TRY_VOID(check_json_begin(begin));
  return true;
}

}  // namespace sonde
