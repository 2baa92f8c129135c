// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The file in which a recording process keeps its buffers while it records, `<output>.live`: this
// head, then a LiveLedger at kLiveLedgerOffset, padded to kChunkBytes, then chunks. It is removed
// when the recording ends normally. After a kill it holds what the drainer had not yet moved to the
// `.sonde` file.

#include <cstddef>
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
  std::uint64_t boot = 0;  // the boot for which `pid` is valid; 0: unknown
};

// What did not get into chunks or was overwritten there since the stream began. Many threads add to
// it.
struct LiveLosses {
  std::uint64_t spans = 0;        // scopes and ranges whose begin found no room
  std::uint64_t ends = 0;         // ends without room: their scopes look unfinished
  std::uint64_t others = 0;       // instants, counters, flows, texts
  std::uint64_t in_signal = 0;    // recorded by a signal handler while its thread was recording
  std::uint64_t overwritten = 0;  // records overwritten by newer ones

  LiveLosses plus(const LiveLosses& other) const {
    return {spans + other.spans, ends + other.ends, others + other.others,
            in_signal + other.in_signal, overwritten + other.overwritten};
  }
  LiveLosses minus(const LiveLosses& other) const {
    return {spans - other.spans, ends - other.ends, others - other.others,
            in_signal - other.in_signal, overwritten - other.overwritten};
  }
};

// A session that records into these chunks. Its losses are correct at every moment: they are `lost`
// while no window is open, otherwise what the stream has lost so far minus `base`.
struct LiveSession {
  char file_id[32] = {};      // of its `.sonde` file; zeros: unused
  std::uint64_t is_open = 0;  // 0 or 1
  LiveLosses base;
  LiveLosses lost;
  std::uint64_t dropped = 0;  // records beyond the budget of BufferPolicy::Drop
  // When the budget was used up, set once the file has everything that was kept; 0 if it was not.
  std::uint64_t spent_ticks = 0;
};

struct LiveLedger {
  static constexpr std::size_t kMaxSessions = 64;
  LiveLosses losses;
  std::uint64_t unused[3] = {};
  LiveSession sessions[kMaxSessions];
};

inline constexpr std::size_t kLiveLedgerOffset = 4096;
static_assert(kLiveLedgerOffset + sizeof(LiveLedger) <= detail::kChunkBytes);

}  // namespace sonde
