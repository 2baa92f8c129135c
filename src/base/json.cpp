// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/json_walk.h"
#include "base/utf8.h"

namespace sonde {

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
  JsonWalk walk(text);
  if (!walk.skip() || !walk.at_end()) return walk.failure();
  return {};
}

}  // namespace sonde
