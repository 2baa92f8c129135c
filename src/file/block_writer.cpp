// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "file/block_file.h"
#include "file/block_layout.h"

namespace sonde {

namespace {

constexpr int kZstdLevel = 1;
// 24 MB of memory; a longer file is read by scanning.
constexpr std::size_t kMaxIndexEntries = std::size_t{1} << 20;

// Making a context costs more than compressing a block. Contexts are kept for the next user and
// never destroyed: a profiler may end with the program, after the threads' own variables.
class Contexts {
 public:
  // Does not wait: in a child of fork() the thread that holds the lock may not exist.
  ZSTD_CCtx* take() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || kept_.empty()) return ZSTD_createCCtx();
    ZSTD_CCtx* const context = kept_.back();
    kept_.pop_back();
    return context;
  }
  void give_back(ZSTD_CCtx* context) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) {
      kept_.push_back(context);
    } else {
      ZSTD_freeCCtx(context);
    }
  }
  static Contexts& instance() {
    static auto* const contexts = new Contexts;
    return *contexts;
  }

 private:
  std::mutex mutex_;
  std::vector<ZSTD_CCtx*> kept_;
};

// Appends the compressed bytes to `out`; false if that would save nothing.
bool compress_into(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> payload) {
  if (payload.empty()) return false;
  ZSTD_CCtx* const context = Contexts::instance().take();
  if (context == nullptr) return false;
  out.resize(ZSTD_compressBound(payload.size()));
  const std::size_t size = ZSTD_compressCCtx(context, out.data(), out.size(), payload.data(),
                                             payload.size(), kZstdLevel);
  Contexts::instance().give_back(context);
  const bool is_smaller = ZSTD_isError(size) == 0 && size < payload.size();
  out.resize(is_smaller ? size : 0);
  return is_smaller;
}

std::array<std::uint8_t, 16> random_id(std::int64_t now_ns) {
  std::array<std::uint8_t, 16> id{};
  if (getrandom(id.data(), id.size(), GRND_NONBLOCK) != static_cast<ssize_t>(id.size())) {
    // Early in a boot: the time and the process are unique enough.
    const std::int64_t pid = getpid();
    std::memcpy(id.data(), &now_ns, sizeof(now_ns));
    std::memcpy(id.data() + sizeof(now_ns), &pid, sizeof(pid));
  }
  return id;
}

std::span<const std::uint8_t> bytes_of(const auto& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)};
}

}  // namespace

EncodedBlock encode_block(BlockKind kind, std::span<const std::uint8_t> payload, bool compress) {
  EncodedBlock block{kind, false, static_cast<std::uint32_t>(payload.size()), {}};
  if (payload.size() > kMaxBlockBytes) {
    block.payload_bytes = kMaxBlockBytes + 1;
    return block;
  }
  block.compressed = compress && compress_into(block.stored, payload);
  if (!block.compressed) block.stored.assign(payload.begin(), payload.end());
  return block;
}

Result<BlockWriter> BlockWriter::create(const std::string& path) {
  std::string temporary;
  if (!path.empty()) {
    SONDE_TRY(temporary, temporary_beside(path));
  }
  auto file = AppendFile::create(temporary);
  if (!file) return Failure(told_as(std::move(file).error(), temporary, path));
  BlockWriter writer(*std::move(file));
  FileHeader header;
  header.version = kFormatVersion;
  header.created_ns = realtime_ns();
  header.file_id = random_id(header.created_ns);
  header.crc = crc_of(header);
  writer.file_tag_ = tag_of(header);
  writer.id_ = id_text(header);
  Result<void> ready = writer.file_.append(bytes_of(header));
  if (ready && !path.empty()) ready = writer.file_.publish(path);
  if (!ready) {
    unlink(temporary.c_str());
    return Failure(std::move(ready).error());
  }
  return writer;
}

namespace {

std::uint16_t flags_of(bool compressed) {
  return compressed ? kBlockFlagZstd : std::uint16_t{0};
}

IndexEntry entry_of(const EncodedBlock& block, std::uint64_t offset) {
  return {offset,
          static_cast<std::uint32_t>(block.stored.size()),
          block.payload_bytes,
          static_cast<std::uint16_t>(block.kind),
          flags_of(block.compressed),
          0};
}

// Appends a block's header, bytes and padding.
void append_block(const EncodedBlock& block, std::uint32_t file_tag, std::uint32_t ordinal,
                  std::vector<std::uint8_t>& out) {
  BlockHeader header;
  header.kind = static_cast<std::uint16_t>(block.kind);
  header.flags = flags_of(block.compressed);
  header.stored_bytes = static_cast<std::uint32_t>(block.stored.size());
  header.payload_bytes = block.payload_bytes;
  header.stored_crc = crc32_of(block.stored);
  header.file_tag = file_tag;
  header.ordinal = ordinal;
  header.crc = crc_of(header);
  const auto front = bytes_of(header);
  out.insert(out.end(), front.begin(), front.end());
  out.insert(out.end(), block.stored.begin(), block.stored.end());
  out.resize(padded(out.size()), 0);
}

// Replaces everything from `offset` on.
Result<void> write_end(const std::string& path, std::uint64_t offset,
                       std::span<const std::uint8_t> bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return io_failure(path, "open", errno);
  const bool is_written = ::ftruncate(fd, static_cast<off_t>(offset)) == 0 &&
                          ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
                              static_cast<ssize_t>(bytes.size());
  const int reason = errno;
  ::close(fd);
  if (!is_written) return io_failure(path, "write", reason);
  return {};
}

}  // namespace

Result<void> add_block(const std::string& path, const EncodedBlock& block) {
  std::uint32_t file_tag = 0;
  std::uint64_t end = kFileHeaderBytes;
  bool is_sealed = false;
  std::vector<IndexEntry> entries;
  {
    SONDE_TRY(const MappedFile mapped, MappedFile::open(path));
    SONDE_TRY(const BlockFile file, BlockFile::parse(mapped.bytes(), path));
    is_sealed = file.sealed();
    file_tag = tag_of(load<FileHeader>(mapped.bytes(), 0));
    for (const BlockFile::Block& one : file.blocks()) {
      entries.push_back({one.offset, one.stored_bytes, one.payload_bytes,
                         static_cast<std::uint16_t>(one.kind), flags_of(one.compressed), 0});
      end = one.offset + kBlockHeaderBytes + padded(one.stored_bytes);
    }
  }
  constexpr std::size_t kEntriesPerBlock = kMaxBlockBytes / sizeof(IndexEntry);
  if (entries.size() >= kEntriesPerBlock)
    return Failure(ErrorCode::Unsupported, path + ": has too many blocks to add one");
  auto ordinal = static_cast<std::uint32_t>(entries.size());
  std::vector<std::uint8_t> bytes;
  append_block(block, file_tag, ordinal++, bytes);
  if (!is_sealed) return write_end(path, end, bytes);
  entries.push_back(entry_of(block, end));
  Trailer trailer;
  trailer.index_offset = end + bytes.size();
  trailer.block_count = static_cast<std::uint32_t>(entries.size());
  trailer.file_tag = file_tag;
  trailer.crc = crc_of(trailer);
  const std::span<const std::uint8_t> index(reinterpret_cast<const std::uint8_t*>(entries.data()),
                                            entries.size() * sizeof(IndexEntry));
  append_block(encode_block(BlockKind::Index, index, true), file_tag, ordinal, bytes);
  const auto last = bytes_of(trailer);
  bytes.insert(bytes.end(), last.begin(), last.end());
  return write_end(path, end, bytes);
}

Result<void> BlockWriter::append(BlockKind kind, std::span<const std::uint8_t> payload,
                                 bool compress) {
  return append(encode_block(kind, payload, compress));
}

Result<void> BlockWriter::append(const EncodedBlock& block) {
  if (sealed_)
    return Failure(ErrorCode::Invalid, file_.path() + ": is sealed; no block can be added");
  if (block.payload_bytes > kMaxBlockBytes) {
    return Failure(ErrorCode::Invalid, file_.path() + ": a block may hold at most " +
                                           std::to_string(kMaxBlockBytes) + " bytes");
  }
  const std::uint64_t offset = file_.size();
  SONDE_TRY_VOID(append_stored(block));
  if (entries_.size() == kMaxIndexEntries) is_indexed_ = false;
  if (!is_indexed_) return {};
  entries_.push_back(entry_of(block, offset));
  return {};
}

// Header, bytes and padding in one write, so that a crash leaves at most one incomplete block.
Result<void> BlockWriter::append_stored(const EncodedBlock& block) {
  scratch_.clear();
  append_block(block, file_tag_, ordinal_, scratch_);
  SONDE_TRY_VOID(file_.append(scratch_));
  ++ordinal_;
  return {};
}

// Appends as many index blocks as needed, one after the other.
Result<void> BlockWriter::append_index() {
  constexpr std::size_t kEntriesPerBlock = kMaxBlockBytes / sizeof(IndexEntry);
  for (std::size_t first = 0; first < entries_.size(); first += kEntriesPerBlock) {
    const std::size_t count = std::min(kEntriesPerBlock, entries_.size() - first);
    const std::span<const std::uint8_t> payload(
        reinterpret_cast<const std::uint8_t*>(entries_.data() + first), count * sizeof(IndexEntry));
    SONDE_TRY_VOID(append_stored(encode_block(BlockKind::Index, payload, true)));
  }
  return {};
}

Result<bool> BlockWriter::take_back(BlockKind kind) {
  if (sealed_ || !is_indexed_ || entries_.empty()) return false;
  if (entries_.back().kind != static_cast<std::uint16_t>(kind)) return false;
  SONDE_TRY_VOID(file_.cut(entries_.back().offset));
  entries_.pop_back();
  --ordinal_;
  return true;
}

Result<void> BlockWriter::seal() {
  if (sealed_) return {};
  Trailer trailer;
  trailer.index_offset = file_.size();
  trailer.block_count = is_indexed_ ? static_cast<std::uint32_t>(entries_.size()) : kNoIndex;
  trailer.file_tag = file_tag_;
  trailer.crc = crc_of(trailer);
  if (is_indexed_) SONDE_TRY_VOID(append_index());
  SONDE_TRY_VOID(file_.append(bytes_of(trailer)));
  sealed_ = true;
  return {};
}

}  // namespace sonde
