// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Keys of arguments with the punctuation around them, built at compile time.
//
//   at = put_key<ArgKey::Queued>(at);   // , "queued":

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "convert/kineto/keys_gen.h"

namespace sonde {

// `, "key": `. No key needs escaping.
template <auto Key>
inline constexpr auto kWrittenKey = [] {
  constexpr std::string_view kBefore = ", \"";
  constexpr std::string_view kBehind = "\": ";
  std::array<char, kBefore.size() + text_of(Key).size() + kBehind.size()> written{};
  auto at = std::copy(kBefore.begin(), kBefore.end(), written.begin());
  at = std::copy(text_of(Key).begin(), text_of(Key).end(), at);
  std::copy(kBehind.begin(), kBehind.end(), at);
  return written;
}();

template <auto Key>
constexpr std::string_view written_key() {
  return {kWrittenKey<Key>.data(), kWrittenKey<Key>.size()};
}

template <auto Key>
inline char* put_key(char* at) {
  std::memcpy(at, kWrittenKey<Key>.data(), kWrittenKey<Key>.size());
  return at + kWrittenKey<Key>.size();
}

}  // namespace sonde
