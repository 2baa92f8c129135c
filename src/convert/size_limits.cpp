// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/size_limits.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace sonde {
namespace {

// JSON of traces compresses to a tenth or a thirtieth; deflate can reach a thousandth.
constexpr std::uint64_t kFreelyInflated = std::uint64_t{512} << 20;
constexpr std::uint64_t kMostInflated = 100;

// Memory that the tables take per expanded byte of a block. A recording packs an event into few
// bytes.
constexpr std::uint64_t kMemoryOfEvents = 25;
constexpr std::uint64_t kMemoryOfColumns = 8;
// A recording of one scope in a loop takes 1600 times its size.
constexpr std::uint64_t kFreelyTaken = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostTaken = 4096;

// A value of a pickle takes up to 60 times its bytes, and a snapshot compresses to a tenth.
constexpr std::uint64_t kMostTakenByPickle = 1000;

std::uint64_t memory_for(const BlockFile& file) {
  std::uint64_t bytes = 0;
  for (const BlockFile::Block& block : file.blocks()) {
    const bool is_event = block.kind == BlockKind::Events;
    bytes += std::uint64_t{block.payload_bytes} * (is_event ? kMemoryOfEvents : kMemoryOfColumns);
  }
  return bytes;
}

}  // namespace

std::uint64_t most_inflated(std::uint64_t file_bytes, const OpenOptions& options) {
  if (!options.limit_size) return std::numeric_limits<std::uint64_t>::max();
  return std::max(kFreelyInflated, kMostInflated * file_bytes);
}

std::uint64_t most_taken_by_pickle(std::uint64_t file_bytes, const OpenOptions& options) {
  if (!options.limit_size) return std::numeric_limits<std::uint64_t>::max();
  return std::max(kFreelyTaken, kMostTakenByPickle * file_bytes);
}

Result<void> check_size(const BlockFile& file, const OpenOptions& options) {
  const std::uint64_t wanted = memory_for(file);
  if (!options.limit_size || wanted <= std::max(kFreelyTaken, kMostTaken * file.file_bytes()))
    return {};
  return Failure(ErrorCode::Invalid, file.name() + ": its " + bytes_text(file.file_bytes()) +
                                         " would take about " + bytes_text(wanted) +
                                         " of memory, more than a trace of this size does" +
                                         lift_advice());
}

std::string lift_advice() {
  return "; if you trust the file, lift the limit with --no-size-limit (OpenOptions::limit_size)";
}

}  // namespace sonde
