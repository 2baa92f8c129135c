// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/live_buffers.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "wire/live_file.h"

namespace sonde {

using detail::ChunkHeader;
using detail::kChunkBytes;

namespace {

ChunkHeader header_at(std::span<const std::uint8_t> chunk) {
  ChunkHeader header;
  std::memcpy(&header, chunk.data(), sizeof(header));
  return header;
}

bool is_used(const ChunkHeader& header, std::uint64_t stream) {
  return header.stream == stream && header.committed <= kChunkBytes &&
         header.committed >= detail::kChunkFirstWord;
}

Result<void> check_head(std::span<const std::uint8_t> bytes, const std::string& name,
                        std::uint64_t stream) {
  if (bytes.size() < kChunkBytes)
    return Failure(ErrorCode::Corrupt, name + ": is too short for live buffers");
  LiveFileHead head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.magic != LiveFileHead::kMagic || head.chunk_bytes != kChunkBytes)
    return Failure(ErrorCode::Corrupt, name + ": does not hold live buffers");
  if (head.stream != stream)
    return Failure(ErrorCode::NotFound, name + ": belongs to another recording");
  return {};
}

}  // namespace

bool LiveBuffers::is_of(const std::string& path, std::uint64_t stream) {
  std::error_code ignored;
  if (std::filesystem::symlink_status(path, ignored).type() != std::filesystem::file_type::regular)
    return false;
  const auto file = MappedFile::open(path);
  return file && check_head(file->bytes(), path, stream);
}

std::uint64_t LiveBuffers::used_bytes(const std::string& path, std::uint64_t stream) {
  if (!is_of(path, stream)) return 0;
  const auto file = MappedFile::open(path);
  if (!file) return 0;
  std::uint64_t used = 0;
  for (std::size_t at = kChunkBytes; at + kChunkBytes <= file->bytes().size(); at += kChunkBytes) {
    const ChunkHeader header = header_at(file->bytes().subspan(at, kChunkBytes));
    if (is_used(header, stream)) used += header.committed;
  }
  return used;
}

Result<LiveBuffers> LiveBuffers::open(const std::string& path, std::uint64_t stream) {
  SONDE_TRY(const MappedFile file, MappedFile::open(path));
  return parse(file.bytes(), path, stream);
}

Result<LiveBuffers> LiveBuffers::parse(std::span<const std::uint8_t> bytes, const std::string& name,
                                       std::uint64_t stream) {
  SONDE_TRY_VOID(check_head(bytes, name, stream));
  LiveBuffers buffers;
  buffers.stream = stream;
  LiveLedger ledger;
  std::memcpy(&ledger, bytes.data() + kLiveLedgerOffset, sizeof(ledger));
  buffers.losses = ledger.losses;
  buffers.sessions.assign(std::begin(ledger.sessions), std::end(ledger.sessions));
  for (std::size_t at = kChunkBytes; bytes.size() - at >= kChunkBytes; at += kChunkBytes) {
    const auto chunk = bytes.subspan(at, kChunkBytes);
    const ChunkHeader before = header_at(chunk);
    if (!is_used(before, stream)) continue;
    const auto content =
        chunk.subspan(detail::kChunkFirstWord, before.committed - detail::kChunkFirstWord);
    if (before.state == detail::kChunkDictionary) {
      buffers.dictionaries.emplace_back(content.begin(), content.end());
    } else if (before.state == detail::kChunkEvents) {
      LivePiece piece;
      piece.drained = before.drained;
      piece.head.thread = before.thread;
      piece.head.sequence = before.sequence;
      piece.head.first_offset = detail::kChunkFirstWord;
      piece.head.base_ticks = before.base_ticks;
      piece.head.lost_before = before.lost_before;
      piece.head.lost_ends_before = before.lost_ends_before;
      piece.words.resize(content.size() / 8);
      std::memcpy(piece.words.data(), content.data(), piece.words.size() * 8);
      // If its process is still running, the chunk may have been given to another thread meanwhile.
      const ChunkHeader after = header_at(chunk);
      if (after.state != before.state || after.thread != before.thread ||
          after.sequence != before.sequence)
        continue;
      piece.words.resize(whole_records(piece.words));
      piece.head.word_count = static_cast<std::uint32_t>(piece.words.size());
      if (!piece.words.empty()) buffers.pieces.push_back(std::move(piece));
    }
  }
  return buffers;
}

std::optional<ToldLosses> LiveBuffers::lost_by(const std::string& file_id) const {
  const auto found = std::find_if(sessions.begin(), sessions.end(), [&](const LiveSession& one) {
    return std::string_view(one.file_id, sizeof(one.file_id)) == file_id;
  });
  if (found == sessions.end()) return std::nullopt;
  const bool is_open = found->is_open != 0;
  return ToldLosses{is_open ? losses.minus(found->base) : found->lost, found->dropped,
                    found->spent_ticks};
}

}  // namespace sonde
