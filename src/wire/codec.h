// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How the words of threads are stored in an Events block: any number of pieces, each a u32 with its
// length in bytes and then that many bytes: a head, and each record as
//
//   varint( zigzag(ticks since the record before) * 4 + WordKind )
//   Begin, Lap:  varint( id )
//   Extended:    varint( value ), then its payload words as payload_packing.h says
//
// A scope takes about 5 to 8 bytes here and 16 in memory, an allocation 10 and 48. The ticks of the
// first record count from base_ticks. In files of version 1 payload words are unchanged, 8 bytes
// each, and kPackedPiece is not set.

#include <cstdint>
#include <span>
#include <vector>

#include "sonde/detail/words.h"
#include "sonde/result.h"

namespace sonde {

// Which words these are. `thread` and `sequence` identify a chunk, `first_offset` a position in it.
struct EventsHead {
  std::uint64_t thread = 0;
  std::uint64_t sequence = 0;
  std::uint32_t first_offset = 0;  // in bytes, of the first word
  std::uint32_t word_count = 0;
  std::uint64_t base_ticks = 0;   // full stamp of the chunk
  std::uint64_t lost_before = 0;  // records lost on the thread before this chunk
  std::uint64_t lost_ends_before = 0;
};
static_assert(sizeof(EventsHead) == 48);

// In EventsHead::first_offset as it is stored. Offsets are multiples of 8.
inline constexpr std::uint32_t kPackedPiece = 1;

// Appends head and records to `out`. The words must be whole records.
void encode_events(const EventsHead& head, std::span<const std::uint64_t> words,
                   std::vector<std::uint8_t>& out);

// Whether the payloads of OpInputs are decoded, or left as anything by who does not need them.
enum class WordsOfInputs : std::uint8_t { Decode, Skip };

// Decodes one piece, given without its length, into `words`. Accepts any bytes.
Result<EventsHead> decode_events(std::span<const std::uint8_t> piece,
                                 std::vector<std::uint64_t>& words,
                                 WordsOfInputs inputs = WordsOfInputs::Decode);

// The same without its words, whatever follows the head.
Result<EventsHead> read_events_head(std::span<const std::uint8_t> piece);

// The full stamp of a word in a chunk that began at `base_ticks`.
constexpr std::uint64_t full_ticks(std::uint64_t word, std::uint64_t base_ticks) {
  // Sign-extended, because a counter may run back slightly when a thread changes cores.
  const std::uint64_t difference = (detail::word_ticks(word) - base_ticks) << detail::kTicksShift;
  return base_ticks +
         static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) >> detail::kTicksShift);
}

// How many words at the beginning of `words` form whole records.
std::size_t whole_records(std::span<const std::uint64_t> words);
std::uint64_t count_records(std::span<const std::uint64_t> words);

}  // namespace sonde
