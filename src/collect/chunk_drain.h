// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Takes what threads have recorded out of their chunks, each word once. Used only by the drainer's
// thread.
//
//   drain.live_chunks(pool, take);                     // what threads are still writing
//   bool all = drain.full_chunks(stream, take, flush); // what they have left

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collect/stream.h"
#include "wire/codec.h"

namespace sonde {

class ChunkDrain {
 public:
  // Called with the new words of a chunk.
  using Take = std::function<void(const EventsHead& head, std::span<const std::uint64_t> words)>;
  // Called before chunks are handed out again. What was taken must be safe by then.
  using Flush = std::function<void()>;

  // Where a stream begins.
  void reset() { taken_.clear(); }

  // False if some full chunks could not be taken.
  bool full_chunks(Stream& stream, const Take& take, const Flush& flush);
  void live_chunks(detail::Pool& pool, const Take& take);

 private:
  // How much of a chunk has been taken.
  struct Taken {
    std::uint64_t thread = 0;
    std::uint64_t sequence = 0;
    std::uint32_t offset = 0;
  };

  void chunk(const detail::Pool& pool, detail::ChunkHeader* chunk, const Take& take);

  std::vector<Taken> taken_;  // by the chunk's number, up to the greatest that was seen
  std::vector<std::uint64_t> words_;
};

}  // namespace sonde
