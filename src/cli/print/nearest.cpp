// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/nearest.h"

#include <algorithm>
#include <cstddef>

namespace sonde::cli {
namespace {

constexpr std::size_t kMostErrors = 2;

// The number of such errors between two words.
std::size_t errors_between(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return table[i * width + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t changed = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({changed, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

}  // namespace

std::string nearest(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;  // nobody mistypes more, and the table stays small
  if (given.size() > kLongest) return {};
  std::string best;
  std::size_t fewest = kMostErrors + 1;
  for (const std::string& word : known) {
    const std::size_t errors = errors_between(given, word);
    if (errors >= fewest || 2 * errors >= word.size()) continue;
    fewest = errors;
    best = word;
  }
  return best;
}

}  // namespace sonde::cli
