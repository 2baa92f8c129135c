// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/compressed.h"

#include "base/gzip_writer.h"

namespace sonde::detail {

Result<std::vector<std::uint8_t>> compressed(std::string_view text) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  GzipStream stream;
  GzipCompressor compressor;
  CompressedBlock block;
  std::vector<std::uint8_t> out = GzipStream::head();
  for (std::size_t at = 0; at < text.size(); at += kBlock) {
    if (!compressor.compress(text.substr(at, kBlock), block))
      return Failure(ErrorCode::Internal, "not enough memory to compress it");
    const std::span<const std::uint8_t> bytes = stream.add(block);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::uint8_t> end = stream.end();
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

}  // namespace sonde::detail
