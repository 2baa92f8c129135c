// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "view/timeline/search.h"

namespace sonde::detail {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 0x80 ? std::tolower(c) : c); });
  return out;
}

// Splits at blanks outside quotes. Comparison signs are words of their own.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) out.push_back(std::move(word));
    word.clear();
  };
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool compares = !quoted && (c == '<' || c == '>') && (word.empty() || word == "dur");
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\t')) {
      finish();
    } else if (compares) {
      finish();
      const bool equal = i + 1 < text.size() && text[i + 1] == '=';
      out.emplace_back(text.substr(i, equal ? 2 : 1));
      i += equal ? 1 : 0;
    } else {
      word += c;
    }
  }
  finish();
  return out;
}

Result<Nanos> parse_time(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  const double scale = unit == "s"                    ? 1e9
                       : unit == "ms"                 ? 1e6
                       : unit == "us" || unit == "µs" ? 1e3
                       : unit == "ns" || unit.empty() ? 1
                                                      : 0;
  if (end == text.c_str() || scale == 0 || !(number >= 0) || number * scale > 9e18)
    return Failure(ErrorCode::Invalid,
                   "'" + text + "' is no length of time: write 20us, 1.5ms, 2s");
  return static_cast<Nanos>(number * scale);
}

Result<void> add_comparison(const std::string& sign, const std::string& time, Query& out) {
  SONDE_TRY(const Nanos ns, parse_time(time));
  if (sign == ">") out.least_ns = std::max(out.least_ns, ns + 1);
  if (sign == ">=") out.least_ns = std::max(out.least_ns, ns);
  if (sign == "<") out.most_ns = std::min(out.most_ns, ns - 1);
  if (sign == "<=") out.most_ns = std::min(out.most_ns, ns);
  return {};
}

bool is_sign(const std::string& word) {
  return word == "<" || word == ">" || word == "<=" || word == ">=";
}

// A class of spans, or a kind as the trace calls it.
bool is_kind(const std::string& word) {
  for (int i = 0; i < 256; ++i) {
    const auto kind = static_cast<SpanKind>(i);
    if (to_string(kind) == word || to_string(span_class(kind)) == word) return true;
  }
  return false;
}

}  // namespace

Result<Query> parse_query(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  Query out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = lower(words[i]);
    if (word == "dur" && i + 1 < words.size() && is_sign(words[i + 1])) {
      if (i + 2 >= words.size())
        return Failure(ErrorCode::Invalid, "add a length of time: dur > 1ms");
      SONDE_TRY_VOID(add_comparison(words[i + 1], words[i + 2], out));
      i += 2;
    } else if (word.starts_with("kind:")) {
      out.kinds.push_back(word.substr(5));
      if (!is_kind(out.kinds.back()))
        return Failure(ErrorCode::Invalid,
                       "'" + out.kinds.back() +
                           "' is no kind: write operator, annotation, function, call, kernel, copy "
                           "or wait");
    } else if (word.starts_with("arg:")) {
      out.arguments.push_back(word.substr(4));
    } else {
      out.names.push_back(word);
    }
  }
  return out;
}

}  // namespace sonde::detail
