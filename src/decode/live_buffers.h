// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads the live file of a process that was killed or is still recording.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decode/thread_decoder.h"
#include "sonde/result.h"
#include "wire/live_file.h"

namespace sonde {

// The losses of a session that recorded into the buffers.
struct ToldLosses {
  LiveLosses in_buffers;
  std::uint64_t dropped = 0;
  std::uint64_t spent_ticks = 0;  // when its budget was used up; 0 if it was not
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

  // Nothing if the file does not belong to one of their sessions, or if the buffers are too old to
  // have these counts.
  std::optional<ToldLosses> lost_by(const std::string& file_id) const;

  // Only chunks of `stream` count, because a file of that name may belong to another recording.
  static Result<LiveBuffers> open(const std::string& path, std::uint64_t stream);
  // Whether the file at `path` is not a link and holds buffers of `stream`.
  static bool is_of(const std::string& path, std::uint64_t stream);
  // How much of such a file has been written; 0 if it is not such a file.
  static std::uint64_t used_bytes(const std::string& path, std::uint64_t stream);
  // The same for bytes in memory; `name` appears in messages.
  static Result<LiveBuffers> parse(std::span<const std::uint8_t> bytes, const std::string& name,
                                   std::uint64_t stream);
};

}  // namespace sonde
