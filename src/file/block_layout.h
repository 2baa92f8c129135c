// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The fixed parts of the container as bytes; docs/file-format.md shows them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "file/block_file.h"

namespace sonde {

inline constexpr std::array<std::uint8_t, 8> kFileMagic = {0x89, 'S', 'O',  'N',
                                                           'D',  'E', '\r', '\n'};
inline constexpr std::array<std::uint8_t, 4> kBlockMagic = {'S', 'B', 0xb1, 'K'};
inline constexpr std::array<std::uint8_t, 8> kTrailerMagic = {'S', 'O', 'N', 'D',
                                                              'E', 'N', 'D', '\n'};
inline constexpr std::uint16_t kBlockFlagZstd = 1;
// In Trailer::block_count: the file is complete, but has too many blocks for an index.
inline constexpr std::uint32_t kNoIndex = 0xffffffff;

struct FileHeader {
  std::array<std::uint8_t, 8> magic = kFileMagic;
  std::uint32_t version = 0;
  std::uint32_t crc = 0;  // of this header, with 0 here
  std::int64_t created_ns = 0;
  std::array<std::uint8_t, 16> file_id{};
  std::array<std::uint8_t, 24> unused{};
};
static_assert(sizeof(FileHeader) == kFileHeaderBytes);

struct BlockHeader {
  std::array<std::uint8_t, 4> magic = kBlockMagic;
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t stored_crc = 0;
  std::uint32_t file_tag = 0;  // the first four bytes of the file's id
  std::uint32_t ordinal = 0;   // counts blocks from 0
  std::uint32_t crc = 0;       // of the bytes before it
};
static_assert(sizeof(BlockHeader) == kBlockHeaderBytes);

struct Trailer {
  std::uint64_t index_offset = 0;  // of the first index block
  std::uint32_t block_count = 0;   // without the index
  std::uint32_t file_tag = 0;
  std::array<std::uint8_t, 8> magic = kTrailerMagic;
  std::uint32_t unused = 0;
  std::uint32_t crc = 0;  // of the bytes before it
};
static_assert(sizeof(Trailer) == kTrailerBytes);

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// The value at `offset`. All of it must be inside `bytes`.
template <typename T>
T load(std::span<const std::uint8_t> bytes, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::uint32_t crc32_of(std::span<const std::uint8_t> bytes);
std::uint32_t crc_of(FileHeader header);
std::uint32_t crc_of(const BlockHeader& header);
std::uint32_t crc_of(const Trailer& trailer);
std::uint32_t tag_of(const FileHeader& header);
std::string id_text(const FileHeader& header);

// The header at `offset`, if there is one with a valid checksum and valid lengths. It may reach
// past the end.
std::optional<BlockHeader> block_header_at(std::span<const std::uint8_t> bytes, std::size_t offset);

}  // namespace sonde
