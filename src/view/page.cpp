// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/page.h"

#include <cmath>

#include "base/json.h"

namespace sonde::detail {

PageJson& PageJson::key(std::string_view name) {
  if (!first_key_) out_ += ", ";
  first_key_ = false;
  text(name);
  out_ += ": ";
  return *this;
}

void PageJson::text(std::string_view value) {
  for (const char c : json_string(value)) {
    if (c == '<') {
      out_ += "\\u003c";
    } else {
      out_ += c;
    }
  }
}

void PageJson::real(double value) {
  if (!std::isfinite(value)) {
    out_ += "null";
    return;
  }
  char digits[kMaxJsonNumber];
  out_.append(digits, put_json_number(digits, value));
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = (group << 8) | (i + k < bytes.size() ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k <= bytes.size() ? kDigits[(group >> (18 - 6 * k)) & 63] : '=';
  }
  return out;
}

void replace_mark(std::string& page, std::string_view mark, std::string_view with) {
  const std::size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), with);
}

}  // namespace sonde::detail
