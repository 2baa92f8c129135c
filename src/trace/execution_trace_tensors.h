// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The tensors that a node's `values` name.
//
//   for_each_tensor(R"([[9,10,0,1024,8,"cuda:0"],[-1]])", [](const TensorValue& tensor) { … });

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sonde {

struct TensorValue {
  std::uint64_t id = 0;
  std::uint64_t storage = 0;  // 0: none
};

namespace detail {

inline std::size_t after_space(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
  return at;
}

// The position after the closing quote of the string that begins at `at`.
inline std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// Five integers and a text after the bracket at `at`: nothing else looks like this.
inline bool read_tensor(std::string_view text, std::size_t at, TensorValue& tensor) {
  std::int64_t numbers[5] = {};
  for (std::int64_t& number : numbers) {
    at = after_space(text, at + 1);
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + at, end, number);
    if (error != std::errc()) return false;
    at = after_space(text, static_cast<std::size_t>(stopped - text.data()));
    if (at >= text.size() || text[at] != ',') return false;
  }
  at = after_space(text, at + 1);
  tensor = {static_cast<std::uint64_t>(numbers[0]), static_cast<std::uint64_t>(numbers[1])};
  return at < text.size() && text[at] == '"';
}

}  // namespace detail

template <typename Visit>
void for_each_tensor(std::string_view values, Visit&& visit) {
  for (std::size_t at = 0; at < values.size();) {
    TensorValue tensor;
    if (values[at] == '"') {
      at = detail::after_string(values, at);
      continue;
    }
    if (values[at] == '[' && detail::read_tensor(values, at, tensor)) visit(tensor);
    ++at;
  }
}

// How many elements the outermost list has.
inline std::size_t list_size(std::string_view list) {
  std::size_t count = 0;
  int depth = 0;
  for (std::size_t at = 0; at < list.size();) {
    const char c = list[at];
    if (c == '"') {
      if (depth == 1 && count == 0) count = 1;
      at = detail::after_string(list, at);
      continue;
    }
    if (c == ']' || c == '}') --depth;
    if (depth == 1 && count == 0 && c != ' ' && c != '\n' && c != ']') count = 1;
    if (depth == 1 && c == ',') ++count;
    if (c == '[' || c == '{') ++depth;
    ++at;
  }
  return count;
}

}  // namespace sonde
