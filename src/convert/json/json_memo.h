// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Numbers texts in the order in which they first appear, so that a text that a file repeats a
// million times is examined once.
//
//   RawMemo names;
//   const std::uint32_t id = names.id_of(raw);   // the same text gives the same number
//   names.keys()[id] == raw
//
// Texts are not copied. They must outlive the memo and be followed by kJsonPadding readable bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace sonde {

namespace detail {

__extension__ typedef unsigned __int128 Product;  // NOLINT(modernize-use-using): __extension__

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t load_word(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

inline constexpr std::uint64_t kHashA = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t kHashB = 0xc2b2ae3d27d4eb4f;

// The first `bytes` (at most 8) of a word.
inline std::uint64_t low_bytes(std::uint64_t word, std::size_t bytes) {
  return bytes >= 8 ? word : word & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

}  // namespace detail

// Whether two texts are equal; may read up to 16 bytes past their ends.
inline bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const std::size_t size = a.size();
  if (size > 16) return a == b;
  if (size == 0) return true;
  const std::uint64_t first = detail::low_bytes(detail::load_word(a.begin()), size) ^
                              detail::low_bytes(detail::load_word(b.begin()), size);
  if (size <= 8) return first == 0;
  return (first |
          (detail::load_word(a.begin() + size - 8) ^ detail::load_word(b.begin() + size - 8))) == 0;
}

// May read up to 16 bytes past the text.
inline std::uint64_t hash_padded(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = detail::kHashA ^ left;
  while (left > 16) {
    hash = detail::mix(detail::load_word(at) ^ hash, detail::load_word(at + 8) ^ detail::kHashB);
    at += 16;
    left -= 16;
  }
  const std::uint64_t first = detail::low_bytes(detail::load_word(at), left);
  const std::uint64_t second =
      left > 8 ? detail::low_bytes(detail::load_word(at + 8), left - 8) : 0;
  return detail::mix(first ^ hash, second ^ detail::kHashB);
}

struct HashPadded {
  std::uint64_t operator()(std::string_view text) const { return hash_padded(text); }
};

template <typename Key, typename Hash>
class Memo {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::uint32_t id_of(const Key& key) {
    if (2 * keys_.size() >= slots_.size()) grow();
    const std::uint64_t hash = Hash()(key);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = hash & mask_;
    while (slots_[at].id != kNone) {
      if (slots_[at].tag == tag && keys_[slots_[at].id] == key) return slots_[at].id;
      at = (at + 1) & mask_;
    }
    slots_[at] = {tag, static_cast<std::uint32_t>(keys_.size())};
    keys_.push_back(key);
    return slots_[at].id;
  }

  // By number.
  const std::vector<Key>& keys() const { return keys_; }
  std::size_t size() const { return keys_.size(); }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t id = kNone;
  };

  void grow() {
    slots_.assign(slots_.empty() ? 1024 : 4 * slots_.size(), Slot{});
    mask_ = slots_.size() - 1;
    for (std::uint32_t id = 0; id < keys_.size(); ++id) {
      const std::uint64_t hash = Hash()(keys_[id]);
      std::size_t at = hash & mask_;
      while (slots_[at].id != kNone) at = (at + 1) & mask_;
      slots_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::vector<Key> keys_;
};

using RawMemo = Memo<std::string_view, HashPadded>;

}  // namespace sonde
