// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where a rule about names looks for its text.

#include <cstdint>
#include <string_view>

namespace sonde::detail {

enum class NamePlace : std::uint8_t { Whole, Begin, End, Anywhere };

constexpr bool has_text(std::string_view name, NamePlace place, std::string_view text) {
  switch (place) {
    case NamePlace::Whole:
      return name == text;
    case NamePlace::Begin:
      return name.starts_with(text);
    case NamePlace::End:
      return name.ends_with(text);
    case NamePlace::Anywhere:
      return name.find(text) != std::string_view::npos;
  }
  return false;
}

}  // namespace sonde::detail
