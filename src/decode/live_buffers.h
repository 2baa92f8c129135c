// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reading the live file of a process that was killed, or of one that is still recording.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decode/thread_decoder.h"
#include "sonde/result.h"
#include "wire/live_file.h"

namespace sonde {

// What a session lost that recorded into the buffers.
struct ToldLosses {
  LiveLosses in_buffers;
  std::uint64_t dropped = 0;
  std::uint64_t spent_ticks = 0;  // when its budget was used up; 0: it was not
};

struct LiveBuffers {
  struct LivePiece : Piece {
    std::uint32_t drained = 0;  // bytes of its chunk, see ChunkHeader
  };

  std::uint64_t stream = 0;
  std::vector<LivePiece> pieces;
  std::vector<std::vector<std::uint8_t>> dictionaries;

  LiveLosses losses;
  std::vector<LiveSession> sessions;

  // Nothing if the file is not that of a session of theirs, or they are older than the counts.
  std::optional<ToldLosses> lost_by(const std::string& file_id) const;

  // Only chunks of `stream` count: a file of that name may be of another recording.
  static Result<LiveBuffers> open(const std::string& path, std::uint64_t stream);
  // Whether the file at `path`, which is no link, holds buffers of `stream`.
  static bool is_of(const std::string& path, std::uint64_t stream);
  // How much of such a file has been written; 0 if it is none.
  static std::uint64_t used_bytes(const std::string& path, std::uint64_t stream);
  // The same over bytes in memory; `name` stands in messages.
  static Result<LiveBuffers> parse(std::span<const std::uint8_t> bytes, const std::string& name,
                                   std::uint64_t stream);
};

}  // namespace sonde
