// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/gzip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#if SONDE_HAS_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#endif

namespace sonde {

namespace {

// The most that one call of either library takes.
constexpr std::size_t kMaxPiece = std::size_t{1} << 30;

// Room for text that does not shrink, and for the marker at the end of a block.
std::size_t bound_of(std::size_t text_bytes) {
  return text_bytes + text_bytes / 1000 + 1024;
}

}  // namespace

#if SONDE_HAS_ISAL

struct GzipCompressor::State {
  isal_zstream stream{};
  std::vector<std::uint8_t> level_buffer = std::vector<std::uint8_t>(ISAL_DEF_LVL1_DEFAULT);
};

bool GzipCompressor::compress(std::string_view text, CompressedBlock& block) {
  isal_zstream& stream = state_->stream;
  // Initialising it does not clear what it learned from the previous block.
  stream = {};
  std::fill(state_->level_buffer.begin(), state_->level_buffer.end(), std::uint8_t{0});
  isal_deflate_init(&stream);
  stream.level = 1;
  stream.level_buf = state_->level_buffer.data();
  stream.level_buf_size = static_cast<std::uint32_t>(state_->level_buffer.size());
  stream.gzip_flag = IGZIP_DEFLATE;
  stream.flush = FULL_FLUSH;
  block.bytes.resize(bound_of(text.size()));
  block.crc = 0;
  block.text_bytes = text.size();
  std::size_t used = 0;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kMaxPiece);
    text.remove_prefix(piece.size());
    auto* bytes = reinterpret_cast<std::uint8_t*>(const_cast<char*>(piece.data()));
    block.crc = crc32_gzip_refl(block.crc, bytes, piece.size());
    stream.next_in = bytes;
    stream.avail_in = static_cast<std::uint32_t>(piece.size());
    stream.next_out = block.bytes.data() + used;
    const std::size_t room =
        std::min<std::size_t>(block.bytes.size() - used, std::numeric_limits<std::uint32_t>::max());
    stream.avail_out = static_cast<std::uint32_t>(room);
    if (isal_deflate(&stream) != COMP_OK || stream.avail_in != 0) return false;
    used += room - stream.avail_out;
  }
  block.bytes.resize(used);
  return true;
}

#else

struct GzipCompressor::State {
  z_stream stream{};
  bool ready = deflateInit2(&stream, 1, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK;
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (ready) deflateEnd(&stream);
  }
};

bool GzipCompressor::compress(std::string_view text, CompressedBlock& block) {
  z_stream& stream = state_->stream;
  if (!state_->ready || deflateReset(&stream) != Z_OK) return false;
  block.bytes.resize(bound_of(text.size()));
  block.crc = 0;
  block.text_bytes = text.size();
  std::size_t used = 0;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kMaxPiece);
    text.remove_prefix(piece.size());
    auto* bytes = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    const auto size = static_cast<uInt>(piece.size());
    block.crc = static_cast<std::uint32_t>(crc32(block.crc, bytes, size));
    stream.next_in = bytes;
    stream.avail_in = size;
    stream.next_out = block.bytes.data() + used;
    const std::size_t room =
        std::min<std::size_t>(block.bytes.size() - used, std::numeric_limits<uInt>::max());
    stream.avail_out = static_cast<uInt>(room);
    if (deflate(&stream, Z_FULL_FLUSH) != Z_OK || stream.avail_in != 0) return false;
    used += room - stream.avail_out;
  }
  block.bytes.resize(used);
  return true;
}

#endif

GzipCompressor::GzipCompressor() : state_(std::make_unique<State>()) {}
GzipCompressor::~GzipCompressor() = default;

//   1f 8b  08       00     00 00 00 00  04       ff
//   magic  deflate  flags  no time      fastest  any system
std::vector<std::uint8_t> GzipStream::head() {
  return {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255};
}

std::span<const std::uint8_t> GzipStream::add(const CompressedBlock& block) {
  crc_ = static_cast<std::uint32_t>(
      crc32_combine(crc_, block.crc, static_cast<z_off_t>(block.text_bytes)));
  text_bytes_ += block.text_bytes;
  return block.bytes;
}

// An empty last block, the checksum, and the length modulo 2^32.
std::vector<std::uint8_t> GzipStream::end() const {
  std::vector<std::uint8_t> bytes = {3, 0};
  for (const std::uint64_t value : {std::uint64_t{crc_}, text_bytes_}) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }
  return bytes;
}

}  // namespace sonde
