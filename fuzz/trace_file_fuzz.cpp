// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads `.sonde` files of any content. Each input is read unchanged, and once more with its
// checksums corrected; otherwise no changed byte would get past them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "decode/open_sonde.h"
#include "file/block_file.h"
#include "file/block_layout.h"
#include "file/trace_file.h"
#include "lazy_promises.h"
#include "promises.h"
#include "sonde/trace.h"

namespace {

using namespace sonde;
using sonde::testing::check_promises;
using Bytes = std::vector<std::uint8_t>;

void read(std::span<const std::uint8_t> bytes) {
  const Result<BlockFile> file = BlockFile::parse(bytes, "fuzz");
  if (!file) return;
  Bytes scratch;
  for (const BlockFile::Block& block : file->blocks()) (void)file->payload(block, scratch);
  const Result<Trace> trace = read_trace(*file);
  if (trace) check_promises(*trace);
  if (file->sealed()) sonde::testing::check_lazy(*file);
}

template <typename T>
void store(Bytes& bytes, std::size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

// The same bytes as a file with valid headers, with any kinds, lengths and payloads.
Bytes repaired(std::span<const std::uint8_t> input) {
  Bytes bytes(input.begin(), input.end());
  if (bytes.size() < sizeof(FileHeader)) return bytes;
  auto header = load<FileHeader>(bytes, 0);
  header.magic = kFileMagic;
  header.version = kFormatVersion;
  header.crc = crc_of(header);
  store(bytes, 0, header);
  for (std::size_t at = sizeof(FileHeader); at + sizeof(BlockHeader) <= bytes.size();) {
    auto block = load<BlockHeader>(bytes, at);
    const std::size_t rest = bytes.size() - at - sizeof(BlockHeader);
    block.magic = kBlockMagic;
    block.file_tag = tag_of(header);
    block.stored_bytes =
        static_cast<std::uint32_t>(std::min<std::size_t>(block.stored_bytes, rest));
    if ((block.flags & kBlockFlagZstd) == 0) block.payload_bytes = block.stored_bytes;
    block.stored_crc =
        crc32_of(std::span(bytes).subspan(at + sizeof(BlockHeader), block.stored_bytes));
    block.crc = crc_of(block);
    store(bytes, at, block);
    at += sizeof(BlockHeader) + padded(block.stored_bytes);
  }
  return bytes;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read({data, size});
  read(repaired({data, size}));
  return 0;
}
