// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/cpp_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace sonde {
namespace {

// A part that holds others r times is r times as long: with so many references, a name of this
// length becomes some megabytes at worst.
constexpr std::size_t kMostReferences = 16;
constexpr std::size_t kLongestName = 2000;

// Places that look like S_, S0_ or T1_: at least as many as there are.
std::size_t count_references(std::string_view name) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != 'S' && name[i] != 'T') continue;
    const std::size_t end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
    if (end != std::string_view::npos && name[end] == '_') ++count;
  }
  return count;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The name without what is in angle brackets; empty if they do not match.
std::string without_templates(std::string_view name) {
  std::string kept;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<') ++depth;
    if (depth == 0) kept += c;
    if (c == '>' && (i == 0 || name[i - 1] != '-') && --depth < 0) return {};
  }
  return depth == 0 ? kept : std::string();
}

// Where the parameters begin: the bracket that matches the last closing one. "(anonymous
// namespace)" is part of a name.
std::size_t parameters_at(std::string_view name) {
  const std::size_t close = name.rfind(')');
  if (close == std::string_view::npos) return std::string_view::npos;
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

bool looks_like_function(std::string_view name) {
  return name.find('<') != std::string_view::npos || name.starts_with("void ") ||
         (name.ends_with(')') && name.find("::") != std::string_view::npos);
}

}  // namespace

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kLongestName ||
      count_references(name) > kMostReferences)
    return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return text == nullptr ? name : std::string(text.get());
}

std::string short_cpp_name(std::string_view given) {
  std::string name = demangled(std::string(given));
  if (!looks_like_function(name)) return name;
  std::string bare = without_templates(name);
  if (const std::size_t at = parameters_at(bare); at != std::string::npos && at > 0)
    bare.resize(at);
  while (!bare.empty() && bare.back() == ' ') bare.pop_back();
  std::size_t first = bare.size();
  while (first > 0 && is_word(bare[first - 1])) --first;
  return first == bare.size() ? name : bare.substr(first);
}

std::string folded_cpp_name(std::string_view given) {
  std::string name = demangled(std::string(given));
  if (looks_like_function(name)) {
    const std::size_t at = parameters_at(name);
    if (at != std::string::npos && at > 0 && name.ends_with(')')) name.resize(at);
  }
  std::string folded;
  int depth = 0;
  for (std::size_t i = 0; i < name.size();) {
    const char c = name[i];
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    const bool starts_number = is_digit(c) && (i == 0 || !is_word(name[i - 1]) ||
                                               name[i - 1] == '_' || name[i - 1] == 'x');
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    const bool is_tile = end < name.size() && (name[end] == 'x' || (i > 0 && name[i - 1] == 'x'));
    const bool ends_word = end == name.size() || !is_word(name[end]) || name[end] == '_';
    if (starts_number && ((depth > 0 && ends_word) || is_tile || (i > 0 && name[i - 1] == 'x'))) {
      folded += '#';
      i = end;
      continue;
    }
    folded += c;
    ++i;
  }
  return folded;
}

}  // namespace sonde
