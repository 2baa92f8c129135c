// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The container under a `.sonde` file: a header, then blocks, each with kind, length and checksum,
// appended one after the other; a clean end adds an index and a trailer. The container does not
// interpret payloads. docs/file-format.md shows the layout.
//
// A file without an end is scanned: every complete block is found, and everything else is reported
// as damage with its offset. A truncated or damaged file thus yields what it still has.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "sonde/result.h"

namespace sonde {

// Raised by one with every change to what a file may contain; see file/file_upgrade.h.
inline constexpr std::uint32_t kFormatVersion = 2;

enum class BlockKind : std::uint16_t {
  Metadata = 1,    // key and JSON value pairs
  Dictionary = 2,  // names, call sites, threads that events refer to by id
  Events = 3,      // what one thread recorded, encoded by wire/codec.h
  Anchors = 4,     // pairs of ticks and nanoseconds
  Windows = 5,     // when recording was on
  Ledger = 6,      // what was lost, and what recording cost
  Columns = 7,     // a stretch of one column of a finished Trace
  Index = 8,       // where the blocks before it lie; written last
  Process = 9,     // who recorded: pid, host, rank, where its live buffers are
  Counts = 10,     // how much a recording holds; at its end
  Threads = 11,    // the same for each thread
  Steps = 12,      // when its steps began and ended
  Pieces = 13,     // where the pieces of its events lie, and what was open there
  Operators = 14,  // how many of its operators have inputs and stacks
};

// Payloads are at most this long, before compression too. A reader refuses more, so that no length
// in a damaged file makes it allocate.
inline constexpr std::size_t kMaxBlockBytes = std::size_t{4} << 20;

// Where the parts of the container begin and how long they are.
inline constexpr std::size_t kFileHeaderBytes = 64;
inline constexpr std::size_t kBlockHeaderBytes = 32;
inline constexpr std::size_t kTrailerBytes = 32;

// A block as it will be in the file, except for its header: made on any thread, then appended.
struct EncodedBlock {
  BlockKind kind;
  bool compressed;
  std::uint32_t payload_bytes;
  std::vector<std::uint8_t> stored;
};
// `compress` is a hint: the block is stored plain if zstd would not make it smaller. A payload
// longer than kMaxBlockBytes is refused by append().
EncodedBlock encode_block(BlockKind kind, std::span<const std::uint8_t> payload, bool compress);

// A block as the index lists it.
struct IndexEntry {
  std::uint64_t offset;
  std::uint32_t stored_bytes;
  std::uint32_t payload_bytes;
  std::uint16_t kind;
  std::uint16_t flags;
  std::uint32_t unused;
};
static_assert(sizeof(IndexEntry) == 24);

class BlockWriter {
 public:
  // Replaces `path` with a file that already has its header. An empty path makes an unnamed file.
  static Result<BlockWriter> create(const std::string& path);

  Result<void> append(const EncodedBlock& block);
  Result<void> append(BlockKind kind, std::span<const std::uint8_t> payload, bool compress);
  // Removes the last block if it is of that kind; false if it is not.
  Result<bool> take_back(BlockKind kind);
  // Index and trailer. An append after it fails.
  Result<void> seal();

  std::uint64_t size() const { return file_.size(); }
  const AppendFile& file() const { return file_; }
  // As BlockFile::id().
  const std::string& id() const { return id_; }
  // Closes the file, which keeps its content, and leaves its name to whoever wants it.
  void release() { file_.release(); }

 private:
  explicit BlockWriter(AppendFile file) : file_(std::move(file)) {}
  Result<void> append_stored(const EncodedBlock& block);
  Result<void> append_index();

  AppendFile file_;
  std::string id_;
  std::uint32_t file_tag_ = 0;
  std::uint32_t ordinal_ = 0;
  bool sealed_ = false;
  bool is_indexed_ = true;
  std::vector<IndexEntry> entries_;
  std::vector<std::uint8_t> scratch_;
};

// Adds a block to a finished file, before its index, or to the file of a process that was killed,
// after its last whole block. Nobody else may write the file or have it mapped.
Result<void> add_block(const std::string& path, const EncodedBlock& block);

class BlockFile {
 public:
  struct Block {
    BlockKind kind;
    std::uint64_t offset;         // of the block's header in the file
    std::uint32_t stored_bytes;   // of the payload as it lies in the file
    std::uint32_t payload_bytes;  // after decompression
    bool compressed;
  };
  struct Damage {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::string what;  // "block at byte 4096 ends early"
    // What kind of block it is the beginning of, at the end of the file.
    std::optional<BlockKind> cut = std::nullopt;
  };

  // Fails only if nothing can be read at all: no such file, no permission, not a Sonde file, a
  // newer version.
  static Result<BlockFile> open(const std::string& path);
  // The same for bytes in memory, which must outlive it; `name` appears in messages.
  static Result<BlockFile> parse(std::span<const std::uint8_t> bytes, const std::string& name);

  const std::string& name() const { return name_; }
  std::uint32_t version() const { return version_; }
  // 32 hexadecimal digits that no other file has, whatever its name.
  const std::string& id() const { return id_; }
  // When the file was created, in nanoseconds since the Unix epoch.
  std::int64_t created_ns() const { return created_ns_; }
  // Whether it is sealed, with a matching index.
  bool sealed() const { return sealed_; }
  std::uint64_t file_bytes() const { return bytes_.size(); }
  // In the order of the file; the index is not among them. Unknown kinds are.
  const std::vector<Block>& blocks() const { return blocks_; }
  // How many bytes its blocks may expand to: freely, and as a multiple of the file beyond that. A
  // file that expands to more is taken for one that was made to fill the memory.
  std::uint64_t most_expanded(std::uint64_t freely, std::uint64_t times) const {
    return limits_size_ ? freely + times * file_bytes() : ~std::uint64_t{0};
  }
  bool limits_size() const { return limits_size_; }
  // For a file that the user trusts.
  void lift_size_limits() { limits_size_ = false; }
  // Bytes that are not blocks. Damage inside a block is found by payload().
  const std::vector<Damage>& damage() const { return damage_; }

  // A hint: payload() will be called for these blocks. Saves waiting for a slow disk block by
  // block.
  void will_read(const std::function<bool(const Block&)>& is_wanted) const;

  // The payload with checksum verified, decompressed into `scratch` if need be; valid while this
  // and `scratch` live. Thread-safe for different `scratch`.
  Result<std::span<const std::uint8_t>> payload(const Block& block,
                                                std::vector<std::uint8_t>& scratch) const;

 private:
  BlockFile() = default;
  Result<void> read_file_header();
  bool read_index();
  bool ends_without_index() const;
  void scan();
  std::size_t scan_block(std::size_t at);
  void add_damage(std::size_t offset, std::size_t bytes, std::string what);

  std::shared_ptr<const MappedFile> mapped_;
  std::span<const std::uint8_t> bytes_;
  std::string name_;
  std::uint32_t version_ = 0;
  std::string id_;
  std::uint32_t file_tag_ = 0;
  std::int64_t created_ns_ = 0;
  bool sealed_ = false;
  bool limits_size_ = true;
  std::vector<Block> blocks_;
  std::vector<Damage> damage_;
};

}  // namespace sonde
