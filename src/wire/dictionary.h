// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Dictionary entries: what events refer to by number. They are stored one after the other in
// dictionary chunks and Dictionary blocks, each padded with zeros to a multiple of 8 bytes:
//
//   u32 size of the entry with its padding | u8 DictionaryKind | u8 flags | 2 zero bytes | u64 id
//   | fields
//
// Flags: bit 0, a string of it was cut.
//
//   Site    varint line, string name, string function, string file
//   Name    string name
//   Thread  varint kernel thread id, string name; a later entry with the same id replaces it
//   Place   string that wire/places.h makes
//
// Strings are a varint length and that many bytes, of any content.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "sonde/detail/words.h"

namespace sonde {

enum class DictionaryKind : std::uint8_t { Site = 1, Name = 2, Thread = 3, Place = 4 };

struct DictionaryEntry {
  DictionaryKind kind{};
  std::uint64_t id = 0;
  std::uint64_t number = 0;  // line or kernel thread id
  std::string_view name = {};
  std::string_view function = {};
  std::string_view file = {};
  bool is_cut = false;
};

// Reads entries until the bytes end or stop making sense. Calls visit(const DictionaryEntry&) for
// each entry and returns how many bytes were understood.
template <typename Visit>
std::size_t read_dictionary(std::span<const std::uint8_t> bytes, Visit&& visit) {
  std::size_t at = 0;
  while (bytes.size() - at >= 16) {
    ByteReader head(bytes.subspan(at));
    const auto size = head.read<std::uint32_t>();
    const auto kind = head.read<std::uint8_t>();
    const auto flags = head.read<std::uint8_t>();
    head.bytes(2);
    DictionaryEntry entry;
    entry.is_cut = (flags & 1) != 0;
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

// Writes an entry to memory without allocating, for the recorder.
class DictionaryEntryWriter {
 public:
  // The head, a number, the lengths of three strings, padding.
  static constexpr std::size_t kLeastRoom = 16 + 10 + 3 * 3 + 7;

  DictionaryEntryWriter(std::span<std::uint8_t> room, const DictionaryEntry& entry) : room_(room) {
    std::memset(room_.data(), 0, kHeadBytes);
    room_[4] = static_cast<std::uint8_t>(entry.kind);
    room_[5] = entry.is_cut ? 1 : 0;
    std::memcpy(room_.data() + 8, &entry.id, 8);
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      room_[size_++] = static_cast<std::uint8_t>(value | 0x80);
      value >>= 7;
    }
    room_[size_++] = static_cast<std::uint8_t>(value);
  }
  void string(std::string_view text) {
    const std::size_t left = room_.size() - string_bytes_ - kLeastRoom;
    const std::string_view kept =
        text.substr(0, std::min<std::size_t>(left, detail::kMaxTextBytes));
    if (kept.size() < text.size()) room_[5] = 1;
    varint(kept.size());
    if (!kept.empty()) std::memcpy(room_.data() + size_, kept.data(), kept.size());
    size_ += kept.size();
    string_bytes_ += kept.size();
  }
  std::span<const std::uint8_t> finish() {
    while (size_ % 8 != 0) room_[size_++] = 0;
    const auto size = static_cast<std::uint32_t>(size_);
    std::memcpy(room_.data(), &size, 4);
    return room_.first(size_);
  }

 private:
  static constexpr std::size_t kHeadBytes = 16;

  std::span<std::uint8_t> room_;
  std::size_t size_ = kHeadBytes;
  std::size_t string_bytes_ = 0;
};

// An upper bound for the memory that an entry takes.
inline std::size_t room_for(const DictionaryEntry& entry) {
  std::size_t bytes = DictionaryEntryWriter::kLeastRoom;
  for (const std::string_view text : {entry.name, entry.function, entry.file})
    bytes += std::min<std::size_t>(text.size(), detail::kMaxTextBytes);
  return bytes;
}

// Writes the entry to the beginning of `room`, which has at least kLeastRoom bytes. Strings are cut
// at detail::kMaxTextBytes and at the end of the memory.
inline std::span<const std::uint8_t> lay_entry(std::span<std::uint8_t> room,
                                               const DictionaryEntry& entry) {
  DictionaryEntryWriter out(room, entry);
  const bool has_number =
      entry.kind == DictionaryKind::Site || entry.kind == DictionaryKind::Thread;
  if (has_number) out.varint(entry.number);
  out.string(entry.name);
  if (entry.kind == DictionaryKind::Site) {
    out.string(entry.function);
    out.string(entry.file);
  }
  return out.finish();
}

}  // namespace sonde
