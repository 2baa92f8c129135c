// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The time from which a ring has everything. Threads overwrite the chunk that was given up first,
// so nothing is missing after the last record of the oldest such chunk that still exists.

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/format.h"
#include "base/text.h"

namespace sonde {

class RingReach {
 public:
  // Every chunk of the ring; `last_ticks` is the time of its last record.
  void add(std::uint64_t thread, std::uint64_t sequence, std::uint64_t last_ticks) {
    chunks_.push_back({thread, sequence, last_ticks});
    std::uint64_t& newest = newest_[thread];
    newest = std::max(newest, sequence);
  }
  // Call it only if something was overwritten. A thread's newest chunk says nothing: it may be old
  // because its thread is idle.
  std::uint64_t complete_from(std::uint64_t otherwise) const {
    std::uint64_t from = otherwise;
    for (const Chunk& chunk : chunks_)
      if (chunk.sequence < newest_.at(chunk.thread)) from = std::min(from, chunk.last_ticks);
    return from;
  }

 private:
  struct Chunk {
    std::uint64_t thread;
    std::uint64_t sequence;
    std::uint64_t last_ticks;
  };
  std::vector<Chunk> chunks_;
  std::unordered_map<std::uint64_t, std::uint64_t> newest_;
};

inline std::string ring_too_small(double held_ns, double wanted_ns) {
  return format_text(
      "the buffers held the last {} of the {} that the ring should keep; --budget "
      "makes them larger",
      duration_text(static_cast<std::int64_t>(held_ns)),
      duration_text(static_cast<std::int64_t>(wanted_ns)));
}

}  // namespace sonde
