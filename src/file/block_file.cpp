// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/block_file.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/will_need.h"
#include "file/block_layout.h"

namespace sonde {

namespace {

// What is read first, besides the header: the trailer, the index and what comes last. And how far
// apart blocks may be that are asked for in one piece.
constexpr std::size_t kReadFirst = std::size_t{256} << 10;
constexpr std::size_t kNear = 4096;
// A header with a greater version is damaged, not from the future.
constexpr std::uint32_t kBelievableVersions = 1000;
// Beyond this many, damage is added up in the last entry.
constexpr std::size_t kMaxDamageEntries = 1000;

std::string at_byte(std::string_view what, std::size_t offset) {
  return std::string(what) + " at byte " + std::to_string(offset);
}

// The beginning of the file, to help a person recognise it.
std::string beginning(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 16))) {
    text += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
  }
  return text;
}

std::optional<Trailer> trailer_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Trailer)) return std::nullopt;
  const auto trailer = load<Trailer>(bytes, offset);
  if (trailer.magic != kTrailerMagic || trailer.crc != crc_of(trailer)) return std::nullopt;
  return trailer;
}

// The next place at or after `from` where a block or the trailer begins; the end if there is none.
std::size_t next_part(std::span<const std::uint8_t> bytes, std::size_t from) {
  for (std::size_t at = from; at < bytes.size();) {
    const auto rest = bytes.subspan(at);
    const auto found =
        std::search(rest.begin(), rest.end(), kBlockMagic.begin(), kBlockMagic.end());
    at += static_cast<std::size_t>(found - rest.begin());
    if (block_header_at(bytes, at)) return at;
    ++at;
  }
  if (bytes.size() >= from + sizeof(Trailer) && trailer_at(bytes, bytes.size() - sizeof(Trailer))) {
    return bytes.size() - sizeof(Trailer);
  }
  return bytes.size();
}

}  // namespace

Result<BlockFile> BlockFile::open(const std::string& path) {
  SONDE_TRY(MappedFile file, MappedFile::open(path));
  auto mapped = std::make_shared<const MappedFile>(std::move(file));
  SONDE_TRY(BlockFile result, parse(mapped->bytes(), path));
  result.mapped_ = std::move(mapped);
  return result;
}

Result<BlockFile> BlockFile::parse(std::span<const std::uint8_t> bytes, const std::string& name) {
  BlockFile file;
  file.bytes_ = bytes;
  file.name_ = name;
  will_need(bytes.last(std::min(bytes.size(), kReadFirst)));
  SONDE_TRY_VOID(file.read_file_header());
  file.sealed_ = file.read_index();
  if (!file.sealed_) {
    file.scan();
    file.sealed_ = file.damage_.empty() && file.ends_without_index();
  }
  return file;
}

Result<void> BlockFile::read_file_header() {
  const auto refuse = [this](ErrorCode code, const std::string& why) {
    return Failure(code, name_ + ": " + why);
  };
  if (bytes_.empty()) return refuse(ErrorCode::Corrupt, "is empty");
  const std::size_t seen = std::min(bytes_.size(), kFileMagic.size());
  if (!std::equal(kFileMagic.begin(), kFileMagic.begin() + static_cast<std::ptrdiff_t>(seen),
                  bytes_.begin())) {
    return refuse(ErrorCode::Corrupt,
                  "not a Sonde file; it begins with \"" + beginning(bytes_) + "\"");
  }
  if (bytes_.size() < sizeof(FileHeader)) {
    return refuse(ErrorCode::Corrupt, "ends after " + std::to_string(bytes_.size()) +
                                          " bytes, within the file's header");
  }
  const auto header = load<FileHeader>(bytes_, 0);
  // The version is checked before the checksum, so that later versions may change what follows it.
  if (header.version > kFormatVersion && header.version <= kBelievableVersions) {
    return refuse(ErrorCode::TooNew, "written in format version " + std::to_string(header.version) +
                                         "; this Sonde reads versions up to " +
                                         std::to_string(kFormatVersion) + ": use a newer Sonde");
  }
  if (header.version == 0 || header.version > kFormatVersion) {
    return refuse(ErrorCode::Corrupt, "the file's header is damaged: it claims format version " +
                                          std::to_string(header.version));
  }
  version_ = header.version;
  id_ = id_text(header);
  file_tag_ = tag_of(header);
  created_ns_ = header.created_ns;
  if (header.crc != crc_of(header)) {
    add_damage(0, sizeof(FileHeader), "the file's header has a wrong checksum");
    // The id may be damaged. The first complete block has it too.
    const std::size_t first = next_part(bytes_, sizeof(FileHeader));
    if (const auto block = block_header_at(bytes_, first)) file_tag_ = block->file_tag;
  }
  return {};
}

bool BlockFile::read_index() {
  if (bytes_.size() < sizeof(FileHeader) + sizeof(Trailer)) return false;
  const std::size_t end = bytes_.size() - sizeof(Trailer);
  const auto trailer = trailer_at(bytes_, end);
  if (!trailer || trailer->file_tag != file_tag_ || trailer->index_offset > end) return false;

  std::vector<Block> blocks;
  std::vector<std::uint8_t> scratch;
  std::size_t next = sizeof(FileHeader);  // each block begins where the one before it ends
  for (auto at = static_cast<std::size_t>(trailer->index_offset); at < end;) {
    const auto header = block_header_at(bytes_, at);
    if (!header || header->kind != static_cast<std::uint16_t>(BlockKind::Index)) return false;
    const auto list = payload({BlockKind::Index, at, header->stored_bytes, header->payload_bytes,
                               (header->flags & kBlockFlagZstd) != 0},
                              scratch);
    if (!list || list->size() % sizeof(IndexEntry) != 0) return false;
    for (std::size_t i = 0; i < list->size(); i += sizeof(IndexEntry)) {
      const auto entry = load<IndexEntry>(*list, i);
      if (entry.offset != next || entry.stored_bytes > kMaxBlockBytes ||
          entry.payload_bytes > kMaxBlockBytes) {
        return false;
      }
      blocks.push_back({static_cast<BlockKind>(entry.kind), entry.offset, entry.stored_bytes,
                        entry.payload_bytes, (entry.flags & kBlockFlagZstd) != 0});
      next += sizeof(BlockHeader) + padded(entry.stored_bytes);
      if (next > trailer->index_offset) return false;
    }
    at += sizeof(BlockHeader) + padded(header->stored_bytes);
  }
  if (next != trailer->index_offset || blocks.size() != trailer->block_count) return false;
  blocks_ = std::move(blocks);
  return true;
}

bool BlockFile::ends_without_index() const {
  if (bytes_.size() < sizeof(FileHeader) + sizeof(Trailer)) return false;
  const auto trailer = trailer_at(bytes_, bytes_.size() - sizeof(Trailer));
  return trailer && trailer->file_tag == file_tag_ && trailer->block_count == kNoIndex;
}

void BlockFile::scan() {
  for (std::size_t at = sizeof(FileHeader); at < bytes_.size();) at = scan_block(at);
}

// Takes the block at `at`, or reports damage; returns where to continue.
std::size_t BlockFile::scan_block(std::size_t at) {
  const std::size_t left = bytes_.size() - at;
  const auto header = block_header_at(bytes_, at);
  if (!header || header->file_tag != file_tag_) {
    if (left == sizeof(Trailer) && trailer_at(bytes_, at)) return bytes_.size();
    const std::size_t next = next_part(bytes_, at + 1);
    const bool is_cut = next == bytes_.size() && left < sizeof(BlockHeader);
    add_damage(at, next - at,
               at_byte(is_cut ? "the header of the block" : "no block", at) +
                   (is_cut ? " ends early" : ", where one should begin"));
    return next;
  }
  if (left - sizeof(BlockHeader) < header->stored_bytes) {
    // Its header is valid, so the length can be trusted: the file was cut.
    const std::size_t next = next_part(bytes_, at + sizeof(BlockHeader));
    add_damage(at, next - at, at_byte("the block", at) + " ends early");
    if (next == bytes_.size()) damage_.back().cut = static_cast<BlockKind>(header->kind);
    return next;
  }
  if (header->kind != static_cast<std::uint16_t>(BlockKind::Index)) {
    blocks_.push_back({static_cast<BlockKind>(header->kind), at, header->stored_bytes,
                       header->payload_bytes, (header->flags & kBlockFlagZstd) != 0});
  }
  return std::min(bytes_.size(), at + sizeof(BlockHeader) + padded(header->stored_bytes));
}

void BlockFile::add_damage(std::size_t offset, std::size_t bytes, std::string what) {
  if (damage_.size() < kMaxDamageEntries) {
    damage_.push_back({offset, bytes, std::move(what)});
    return;
  }
  damage_.back().bytes += bytes;
  damage_.back().what = "damage in many further places";
}

void BlockFile::will_read(const std::function<bool(const Block&)>& is_wanted) const {
  std::size_t first = 0;
  std::size_t end = 0;
  const auto ask = [&] {
    if (first < bytes_.size())
      will_need(bytes_.subspan(first, std::min(end, bytes_.size()) - first));
  };
  for (const Block& block : blocks_) {
    if (!is_wanted(block)) continue;
    const auto offset = static_cast<std::size_t>(block.offset);
    if (offset < end || offset > end + kNear) {
      ask();
      first = offset;
    }
    end = offset + sizeof(BlockHeader) + block.stored_bytes;
  }
  ask();
}

Result<std::span<const std::uint8_t>> BlockFile::payload(const Block& block,
                                                         std::vector<std::uint8_t>& scratch) const {
  const auto refuse = [&](const std::string& why) {
    return Failure(ErrorCode::Corrupt,
                   name_ + ": " + at_byte("the block", block.offset) + " " + why);
  };
  const auto header = block_header_at(bytes_, static_cast<std::size_t>(block.offset));
  const auto flags = block.compressed ? kBlockFlagZstd : std::uint16_t{0};
  if (!header || header->kind != static_cast<std::uint16_t>(block.kind) ||
      (header->flags & kBlockFlagZstd) != flags || header->file_tag != file_tag_ ||
      header->stored_bytes != block.stored_bytes || header->payload_bytes != block.payload_bytes) {
    return refuse("has a damaged header");
  }
  const std::size_t begin = static_cast<std::size_t>(block.offset) + sizeof(BlockHeader);
  if (bytes_.size() - begin < header->stored_bytes) return refuse("ends early");
  const auto stored = bytes_.subspan(begin, header->stored_bytes);
  if (crc32_of(stored) != header->stored_crc) return refuse("has a wrong checksum");
  if (!block.compressed) return stored;
  scratch.resize(header->payload_bytes);
  static thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(
      ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (context == nullptr) return refuse("does not decompress: out of memory");
  const std::size_t size = ZSTD_decompressDCtx(context.get(), scratch.data(), scratch.size(),
                                               stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != scratch.size()) return refuse("does not decompress");
  return std::span<const std::uint8_t>(scratch);
}

}  // namespace sonde
