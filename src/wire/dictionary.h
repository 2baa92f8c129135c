// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Dictionary entries: what events name by a number. They lie one after the other in dictionary
// chunks and in Dictionary blocks, each padded with zeros to a multiple of 8 bytes:
//
//   u32 size of the entry with its padding | u8 DictionaryKind | 3 zero bytes | u64 id | fields
//
//   Site    varint line, string name, string function, string file
//   Name    string name
//   Thread  varint kernel thread id, string name; a later entry with the same id replaces it
//   Place   string that wire/places.h makes
//
// Strings are a varint length and that many bytes, of any content.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace sonde {

enum class DictionaryKind : std::uint8_t { Site = 1, Name = 2, Thread = 3, Place = 4 };

// Longer names are cut: an entry always fits a chunk.
inline constexpr std::size_t kMaxDictionaryString = 4096;

struct DictionaryEntry {
  DictionaryKind kind{};
  std::uint64_t id = 0;
  std::uint64_t number = 0;  // line or kernel thread id
  std::string_view name;
  std::string_view function;
  std::string_view file;
};

// Reads entries until the bytes end or make no sense; calls visit(const DictionaryEntry&) for each
// and returns how many bytes were understood.
template <typename Visit>
std::size_t read_dictionary(std::span<const std::uint8_t> bytes, Visit&& visit) {
  std::size_t at = 0;
  while (bytes.size() - at >= 16) {
    ByteReader head(bytes.subspan(at));
    const auto size = head.read<std::uint32_t>();
    const auto kind = head.read<std::uint8_t>();
    head.bytes(3);
    DictionaryEntry entry;
    entry.id = head.read<std::uint64_t>();
    if (size < 16 || size % 8 != 0 || size > bytes.size() - at) break;
    ByteReader fields(bytes.subspan(at + 16, size - 16));
    entry.kind = static_cast<DictionaryKind>(kind);
    bool known = true;
    switch (entry.kind) {
      case DictionaryKind::Site:
        entry.number = fields.varint();
        entry.name = fields.string();
        entry.function = fields.string();
        entry.file = fields.string();
        break;
      case DictionaryKind::Name:
      case DictionaryKind::Place:
        entry.name = fields.string();
        break;
      case DictionaryKind::Thread:
        entry.number = fields.varint();
        entry.name = fields.string();
        break;
      default:
        known = false;
    }
    if (!fields.ok()) break;
    if (known) visit(static_cast<const DictionaryEntry&>(entry));
    at += size;
  }
  return at;
}

// Lays an entry into a fixed buffer without allocating; for use in the recorder.
class DictionaryEntryWriter {
 public:
  explicit DictionaryEntryWriter(DictionaryKind kind, std::uint64_t id) {
    std::memset(bytes_, 0, 16);
    bytes_[4] = static_cast<std::uint8_t>(kind);
    std::memcpy(bytes_ + 8, &id, 8);
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_[size_++] = static_cast<std::uint8_t>(value | 0x80);
      value >>= 7;
    }
    bytes_[size_++] = static_cast<std::uint8_t>(value);
  }
  void string(std::string_view text) {
    text = text.substr(0, kMaxDictionaryString);
    varint(text.size());
    if (!text.empty()) std::memcpy(bytes_ + size_, text.data(), text.size());
    size_ += text.size();
  }
  std::span<const std::uint8_t> finish() {
    while (size_ % 8 != 0) bytes_[size_++] = 0;
    const auto size = static_cast<std::uint32_t>(size_);
    std::memcpy(bytes_, &size, 4);
    return {bytes_, size_};
  }

 private:
  alignas(8) std::uint8_t bytes_[3 * kMaxDictionaryString + 64];
  std::size_t size_ = 16;
};

}  // namespace sonde
