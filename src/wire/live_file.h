// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The file that a recording process keeps its buffers in while it records, `<output>.live`: this
// page, padded to kChunkBytes, then chunks. It goes when the recording ends well. After a kill it
// holds what the drainer had not yet moved to the `.sonde` file.

#include <cstdint>

#include "sonde/detail/words.h"

namespace sonde {

struct LiveFileHead {
  static constexpr std::uint64_t kMagic = 0x3156494c444e4f53;  // "SONDLIV1"
  std::uint64_t magic = kMagic;
  std::uint64_t stream = 0;
  std::uint32_t chunk_bytes = detail::kChunkBytes;
  std::uint32_t chunk_count = 0;
  std::int64_t pid = 0;
  std::uint64_t boot = 0;  // of the system that `pid` is a number of; 0: not known
};

}  // namespace sonde
