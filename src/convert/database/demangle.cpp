// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace sonde {

namespace {

// A part that refers to another r times is r times as long. With this many references, a name of
// this length expands to a few megabytes at worst.
constexpr std::size_t kMostReferences = 16;
constexpr std::size_t kLongestName = 2000;

struct Free {
  void operator()(char* text) const { std::free(text); }
};

// Counts what looks like S_, S0_ or T1_: at least as many as there are references.
std::size_t count_references(std::string_view name) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != 'S' && name[i] != 'T') continue;
    const std::size_t end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
    if (end != std::string_view::npos && name[end] == '_') ++count;
  }
  return count;
}

}  // namespace

std::string BoundedDemangler::operator()(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kLongestName || bytes_left_ == 0) return name;
  if (count_references(name) > kMostReferences) return name;
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status));
  if (text == nullptr) return name;
  const std::size_t size = std::strlen(text.get());
  bytes_left_ -= std::min(bytes_left_, size);
  return {text.get(), size};
}

}  // namespace sonde
