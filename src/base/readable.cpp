// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/readable.h"

#include <algorithm>
#include <cstddef>

#include "base/utf8.h"

namespace sonde {
namespace {

bool is_plain(char c) {
  return c >= ' ' && c < '\x7f';
}

// Whether it is a mark that changes the direction of the following text, or a separator of lines or
// paragraphs, in UTF-8.
bool changes_layout(std::string_view sequence) {
  if (sequence == "\xd8\x9c") return true;  // U+061C
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto second = static_cast<unsigned char>(sequence[1]);
  const auto third = static_cast<unsigned char>(sequence[2]);
  if (second == 0x80) return third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae);
  return second == 0x81 && third >= 0xa6 && third <= 0xa9;  // U+2066 to U+2069
}

// C0, DEL, and U+0080 to U+009F, which some terminals also obey.
bool is_control(std::string_view sequence) {
  if (sequence.size() == 1) return !is_plain(sequence[0]);
  return sequence.size() == 2 && sequence[0] == '\xc2' &&
         static_cast<unsigned char>(sequence[1]) < 0xa0;
}

void append_bytes(std::string& out, std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

std::string readable(std::string_view text, bool on_one_line) {
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(sequence.size());
    if (sequence == "\n" || sequence == "\t") {
      out += !on_one_line ? sequence : sequence == "\n" ? "\\n" : "\\t";
    } else if (length == 0 || is_control(sequence) || changes_layout(sequence)) {
      append_bytes(out, sequence);
    } else {
      out += sequence;
    }
  }
  return out;
}

}  // namespace

std::string readable_text(std::string_view text) {
  return readable(text, false);
}

std::string readable_line(std::string_view text) {
  return readable(text, true);
}

std::string readable_start(std::string_view text, std::size_t bytes) {
  const std::string_view shown = first_whole(text, bytes);
  return readable_line(shown) + (shown.size() < text.size() ? " …" : "");
}

}  // namespace sonde
