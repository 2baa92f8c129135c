// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads recordings of any content. An input is a sequence of sections,
//
//   u8 what | u16 length | bytes
//
// `what` is a BlockKind or one of the two constants below. Each section becomes a block of a file
// whose lengths and checksums are right, so that every changed byte reaches the reader.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "decode/live_buffers.h"
#include "decode/recording_reader.h"
#include "file/block_file.h"
#include "file/block_layout.h"
#include "lazy_promises.h"
#include "promises.h"
#include "wire/blocks.h"
#include "wire/codec.h"
#include "wire/live_file.h"

namespace {

using namespace sonde;
using Bytes = std::vector<std::uint8_t>;

// A chunk of a live file, header first.
constexpr std::uint8_t kLiveChunk = 64;
// An EventsHead and words as in memory.
constexpr std::uint8_t kPlainWords = 65;
constexpr std::uint64_t kStream = 1;

class Container {
 public:
  Container() {
    FileHeader header;
    header.version = kFormatVersion;
    header.crc = crc_of(header);
    tag_ = tag_of(header);
    append(&header, sizeof(header));
  }
  void add(BlockKind kind, std::span<const std::uint8_t> payload) {
    BlockHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.stored_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_bytes = header.stored_bytes;
    header.stored_crc = crc32_of(payload);
    header.file_tag = tag_;
    header.ordinal = ordinal_++;
    header.crc = crc_of(header);
    append(&header, sizeof(header));
    append(payload.data(), payload.size());
    bytes_.resize(padded(bytes_.size()));
  }
  void add_piece(std::span<const std::uint8_t> piece) {
    ByteWriter block;
    block.write(static_cast<std::uint32_t>(piece.size()));
    block.raw(piece.data(), piece.size());
    add(BlockKind::Events, block.bytes());
  }
  void add_words(EventsHead head, std::span<const std::uint64_t> words) {
    words = words.first(whole_records(words));
    head.word_count = static_cast<std::uint32_t>(words.size());
    Bytes piece;
    encode_events(head, words, piece);
    add_piece(piece);
  }
  void seal() {
    Trailer trailer;
    trailer.block_count = kNoIndex;
    trailer.file_tag = tag_;
    trailer.crc = crc_of(trailer);
    append(&trailer, sizeof(trailer));
  }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }

  Bytes bytes_;
  std::uint32_t tag_ = 0;
  std::uint32_t ordinal_ = 0;
};

void add_plain_words(Container& container, std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  auto head = in.read<EventsHead>();
  if (!in.ok()) return;
  head.first_offset = detail::kChunkFirstWord + head.first_offset % 64 * 8;
  std::vector<std::uint64_t> words(std::min<std::size_t>(in.remaining() / 8, 1'000));
  const auto content = in.bytes(words.size() * 8);
  if (!words.empty()) std::memcpy(words.data(), content.data(), content.size());
  container.add_words(head, words);
}

void add_live_chunk(Container& container, std::span<const std::uint8_t> bytes) {
  Bytes live(2 * std::size_t{detail::kChunkBytes});
  LiveFileHead head;
  head.stream = kStream;
  std::memcpy(live.data(), &head, sizeof(head));
  const std::size_t size = std::min<std::size_t>(bytes.size(), detail::kChunkBytes);
  std::copy_n(bytes.begin(), size, live.begin() + detail::kChunkBytes);
  const auto buffers = LiveBuffers::parse(live, "fuzz.live", kStream);
  if (!buffers) return;
  for (const Bytes& dictionary : buffers->dictionaries)
    container.add(BlockKind::Dictionary, dictionary);
  for (const Piece& piece : buffers->pieces) container.add_words(piece.head, piece.words);
}

// Never with live buffers, because their name could be that of any file.
void add_process(Container& container, std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  ProcessBlock process = ProcessBlock::read(in);
  process.live_name.clear();
  ByteWriter out;
  process.write(out);
  container.add(BlockKind::Process, out.bytes());
}

void add_section(Container& container, std::uint8_t what, std::span<const std::uint8_t> bytes) {
  switch (what) {
    case kLiveChunk:
      return add_live_chunk(container, bytes);
    case kPlainWords:
      return add_plain_words(container, bytes);
    case static_cast<std::uint8_t>(BlockKind::Events):
      return container.add_piece(bytes);
    case static_cast<std::uint8_t>(BlockKind::Process):
      return add_process(container, bytes);
    default:
      return container.add(static_cast<BlockKind>(what % 16), bytes);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Container container;
  ByteReader in(data, size);
  while (in.remaining() >= 3) {
    const auto what = in.read<std::uint8_t>();
    const auto length = in.read<std::uint16_t>();
    add_section(container, what, in.bytes(std::min<std::size_t>(length, in.remaining())));
  }
  const Result<BlockFile> file = BlockFile::parse(container.bytes(), "fuzz");
  if (!file) return 0;
  for (const int window : {-1, 0, 1}) {
    const Result<Trace> trace = read_recording(*file, {.window = window, .still_written = true});
    if (trace) sonde::testing::check_promises(*trace);
  }
  // Once more as a file that ended well: such a one may be decoded late.
  container.seal();
  const Result<BlockFile> sealed = BlockFile::parse(container.bytes(), "fuzz");
  if (sealed) sonde::testing::check_lazy(*sealed);
  return 0;
}
