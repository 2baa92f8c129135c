// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Recordings and live buffers made by hand, for tests and fuzzers.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "file/block_file.h"
#include "wire/blocks.h"
#include "wire/live_file.h"
#include "wire/testing/hand_made.h"

namespace sonde::testing {

// A `.sonde` file, block by block. Times are in ticks of a nanosecond unless there are anchors.
class HandMadeRecording {
 public:
  void add(BlockKind kind, Bytes payload) { blocks_.emplace_back(kind, std::move(payload)); }
  void dictionary(Bytes entries) { add(BlockKind::Dictionary, std::move(entries)); }
  void events(Bytes pieces) { add(BlockKind::Events, std::move(pieces)); }
  void anchor(const ClockAnchor& anchor) { add_item(BlockKind::Anchors, AnchorBlock{anchor}); }
  void window(const WindowBlock& window) { add_item(BlockKind::Windows, window); }
  void process(const ProcessBlock& process) { add_item(BlockKind::Process, process); }
  void metadata(const std::string& key, const std::string& json) {
    add_item(BlockKind::Metadata, MetadataBlock{key, json});
  }

  // An empty path makes an unnamed file, which lives as long as the result.
  BlockWriter write(const std::string& path, bool sealed) const {
    auto writer = BlockWriter::create(path);
    if (!writer) std::abort();
    for (const auto& [kind, payload] : blocks_) {
      if (!writer->append(kind, payload, compressed)) std::abort();
    }
    if (sealed && !writer->seal()) std::abort();
    return *std::move(writer);
  }
  Bytes bytes(bool sealed = true) const {
    const BlockWriter writer = write("", sealed);
    const auto text = read_file(writer.file().readable_path());
    if (!text) std::abort();
    return {text->begin(), text->end()};
  }

  bool compressed = false;

 private:
  template <typename Item>
  void add_item(BlockKind kind, const Item& item) {
    ByteWriter out;
    item.write(out);
    add(kind, out.take());
  }

  std::vector<std::pair<BlockKind, Bytes>> blocks_;
};

// A live file, chunk by chunk.
class LiveChunks {
 public:
  explicit LiveChunks(std::uint64_t stream) : stream_(stream), bytes_(detail::kChunkBytes) {
    LiveFileHead head;
    head.stream = stream;
    std::memcpy(bytes_.data(), &head, sizeof(head));
  }
  void dictionary(const Bytes& entries) {
    add(header(detail::kChunkDictionary, 0, 0), entries.data(), entries.size());
  }
  void events(std::uint64_t thread, std::uint64_t sequence, const Words& words) {
    add(header(detail::kChunkEvents, thread, sequence), words.data(), words.size() * 8);
  }
  // Adds a chunk with any header and content; `header.committed` is kept if it is not 0.
  void add(detail::ChunkHeader header, const void* content, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + detail::kChunkBytes);
    if (header.committed == 0)
      header.committed = detail::kChunkFirstWord + static_cast<std::uint32_t>(size);
    std::memcpy(bytes_.data() + at, &header, sizeof(header));
    if (size > 0) std::memcpy(bytes_.data() + at + sizeof(header), content, size);
  }
  detail::ChunkHeader header(std::uint32_t state, std::uint64_t thread,
                             std::uint64_t sequence) const {
    detail::ChunkHeader header{};
    header.state = state;
    header.stream = stream_;
    header.thread = thread;
    header.sequence = sequence;
    return header;
  }
  void ledger(const LiveLedger& ledger) {
    std::memcpy(bytes_.data() + kLiveLedgerOffset, &ledger, sizeof(ledger));
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  std::uint64_t stream_;
  Bytes bytes_;
};

}  // namespace sonde::testing
