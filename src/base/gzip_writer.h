// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// One gzip stream made of blocks that are compressed separately, on any thread:
//
//   head │ block │ block │ … │ end
//
// Each block is raw deflate that refers to nothing before it and ends on a byte. The result is one
// member, which every gzip reader accepts.
//
//   GzipStream stream;                                   // on the thread that writes
//   file.append(stream.head());
//   CompressedBlock block; GzipCompressor().compress(text, block);  // on any thread
//   file.append(stream.add(block));
//   file.append(stream.end());

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sonde {

struct CompressedBlock {
  std::vector<std::uint8_t> bytes;
  std::uint32_t crc = 0;         // of the text
  std::uint64_t text_bytes = 0;  // its length
};

// Compresses fast rather than small. Not thread-safe: use one per thread.
class GzipCompressor {
 public:
  GzipCompressor();
  ~GzipCompressor();
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  // Overwrites `block`. False if the library failed, which happens only if memory runs out.
  bool compress(std::string_view text, CompressedBlock& block);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The frame around the blocks. Add them in order.
class GzipStream {
 public:
  static std::vector<std::uint8_t> head();
  std::span<const std::uint8_t> add(const CompressedBlock& block);
  std::vector<std::uint8_t> end() const;

 private:
  std::uint32_t crc_ = 0;
  std::uint64_t text_bytes_ = 0;
};

}  // namespace sonde
