// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/json_strings.h"

#include <cstring>

#include "base/json.h"

namespace sonde {

namespace {

constexpr std::size_t kMaxCachedBytes = std::size_t{16} << 20;

bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

// Whether one of eight bytes is not plain: a control character, DEL, a quote, a backslash, or part
// of a multi-byte sequence. May also report a plain byte next to one that is not.
bool has_special(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  const auto has_zero = [](std::uint64_t word) { return (word - kOnes) & ~word & kHighs; };
  const std::uint64_t below_space = (bytes - kOnes * 0x20) & ~bytes & kHighs;
  return ((bytes & kHighs) | below_space | has_zero(bytes ^ kOnes * '"') |
          has_zero(bytes ^ kOnes * '\\') | has_zero(bytes ^ kOnes * 0x7f)) != 0;
}

bool all_plain(std::string_view text) {
  while (text.size() >= 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), 8);
    if (has_special(bytes)) return false;
    text.remove_prefix(8);
  }
  for (const char c : text) {
    if (!is_plain(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

// Escapes and replacements are always longer than what they replace.
bool is_clean(std::string_view text) {
  return all_plain(text) || json_string(text).size() == text.size() + 2;
}

}  // namespace

JsonStrings::JsonStrings(const Trace& trace) : trace_(trace) {
  const std::size_t words = trace.strings().size() / 64 + 1;
  needs_escape_.resize(words);
  is_value_.resize(words);
  std::size_t cached_bytes = 0;
  for (std::size_t i = 0; i < trace.strings().size(); ++i) {
    const std::string_view text = trace.string(StringId(i));
    if (is_clean(text)) continue;
    set(needs_escape_, StringId(i));
    if (cached_bytes + text.size() > kMaxCachedBytes) continue;
    const std::string quoted = json_string(text);
    cached_bytes += quoted.size();
    cached_.emplace(static_cast<std::uint32_t>(i), quoted.substr(1, quoted.size() - 2));
  }
  std::vector<std::uint64_t> seen(words);
  find_values(trace.extras().value, seen);
  find_values(trace.metadata().value, seen);
  find_values(trace.processes().foreign_id, seen);
  find_values(trace.tracks().foreign_id, seen);
}

void JsonStrings::find_values(const Column<StringId>& column, std::vector<std::uint64_t>& seen) {
  for (std::size_t i = 0; i < column.size(); ++i) {
    const StringId id = column[i];
    if (!id.valid() || is_set(seen, id)) continue;
    set(seen, id);
    if (validate_json(trace_.string(id))) set(is_value_, id);
  }
}

std::string_view JsonStrings::escaped_slowly(StringId id, std::string& scratch) const {
  if (const auto found = cached_.find(id.value()); found != cached_.end()) return found->second;
  scratch.clear();
  append_json_string(scratch, trace_.string(id));
  return std::string_view(scratch).substr(1, scratch.size() - 2);
}

std::string_view JsonStrings::value(StringId id, std::string& scratch) const {
  if (is_set(is_value_, id)) return trace_.string(id);
  scratch.clear();
  append_json_string(scratch, trace_.string(id));
  return scratch;
}

}  // namespace sonde
