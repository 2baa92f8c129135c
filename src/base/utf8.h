// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string_view>

namespace sonde {

// The length of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none.
inline std::size_t utf8_sequence(std::string_view text) {
  const auto at = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!follows(1) || !follows(2)) return 0;
    if (lead == 0xe0 && at(1) < 0xa0) return 0;  // over-long
    if (lead == 0xed && at(1) > 0x9f) return 0;  // surrogate
    return 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (lead == 0xf0 && at(1) < 0x90) return 0;
    if (lead == 0xf4 && at(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

// At most `bytes` bytes, without cutting a character.
inline std::string_view first_whole(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace sonde
