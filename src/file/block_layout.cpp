// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/block_layout.h"

#include <zlib.h>

namespace sonde {

namespace {

template <typename T>
std::uint32_t crc_of_front(const T& value, std::size_t bytes) {
  return crc32_of({reinterpret_cast<const std::uint8_t*>(&value), bytes});
}

}  // namespace

std::uint32_t crc32_of(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

std::uint32_t crc_of(FileHeader header) {
  header.crc = 0;
  return crc_of_front(header, sizeof(header));
}

std::uint32_t crc_of(const BlockHeader& header) {
  return crc_of_front(header, offsetof(BlockHeader, crc));
}

std::uint32_t crc_of(const Trailer& trailer) {
  return crc_of_front(trailer, offsetof(Trailer, crc));
}

std::uint32_t tag_of(const FileHeader& header) {
  return load<std::uint32_t>(header.file_id, 0);
}

std::string id_text(const FileHeader& header) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : header.file_id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

std::optional<BlockHeader> block_header_at(std::span<const std::uint8_t> bytes,
                                           std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(BlockHeader)) return std::nullopt;
  const auto header = load<BlockHeader>(bytes, offset);
  if (header.magic != kBlockMagic || header.crc != crc_of(header)) return std::nullopt;
  if (header.stored_bytes > kMaxBlockBytes || header.payload_bytes > kMaxBlockBytes) {
    return std::nullopt;
  }
  const bool compressed = (header.flags & kBlockFlagZstd) != 0;
  if (!compressed && header.stored_bytes != header.payload_bytes) return std::nullopt;
  return header;
}

}  // namespace sonde
