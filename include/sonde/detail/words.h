// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The words that a thread records: what the producer's inlined code and the reader agree on.
//
// A record is one 64-bit word, or one followed by payload words:
//
//    63                            18 17               2 1    0
//   +--------------------------------+------------------+------+
//   |  ticks, low 46 bits            |  value, 16 bits  | kind |
//   +--------------------------------+------------------+------+
//
//   Begin     value = id of the call site or name, 1 to 65535
//   End       value = 0; ends the innermost scope that Begin or Lap began on this thread
//   Lap       value = id; ends that scope and begins another at the same tick
//   Extended  value = ExtendedKind (6 bits, low) and the number of payload words (10 bits, high)
//
// 46 bits of ticks repeat after 6.5 hours at 3 GHz; a chunk carries one full stamp and is left
// before that (see leave_chunks_older_than in src/record/recorder.h).
//
// Chunks are kChunkBytes long and aligned to that, so that a word's address gives its header.

#include <cstdint>

namespace sonde {
namespace detail {

enum class WordKind : std::uint8_t { Lap = 0, Begin = 1, End = 2, Extended = 3 };

enum class ExtendedKind : std::uint8_t {
  BeginWide = 1,   // [id]: Begin for ids that do not fit a word
  BeginRange = 2,  // [id]: begins a range, which only EndRange ends
  EndRange = 3,    // [position of its BeginRange] on the thread that began it
  EndRangeOf = 4,  // [position, thread]: the same from another thread
  Instant = 5,     // [id]
  Counter = 6,     // [id, bits of a double]
  FlowOut = 7,     // [flow id]: an arrow leaves the innermost open span
  FlowIn = 8,      // [flow id]: an arrow arrives there
  AsyncBegin = 9,  // [id, async id]
  AsyncEnd = 10,   // [async id], on any thread
  Text = 11,       // [bytes, the bytes padded with zeros]: text of the span begun last
  RangeInline =
      12,  // [bytes, the bytes padded]: BeginRange with its name, where too many were interned
  OpBegin = 13,     // [name id | scope << 32, sequence number, forward thread, record function id],
                    // without trailing values -1, 0, 0: an operator, which End ends
  OpRange = 14,     // the same: an operator that only EndRange ends
  OpInputs = 15,    // the words of op_inputs.h, for the operator begun last
  OpTensors = 16,   // [index | element << 32, tensor, storage] for each tensor of that operator
  Allocation = 17,  // [address, bytes, total, reserved, device type | flags << 8 | index << 32]
  ThreadNumber = 18,  // [number]: the tensor library's number of this thread
  OpPlace = 19,       // [stack id | module id << 32], for the span begun last
  ApiBegin = 20,      // [name id | span kind << 32 | callback id << 40, correlation]: a call of
                      // a device's interface, which End ends
  DeviceSpan = 21,    // src/wire/device.h has the rest
  Device = 22,
  SourceLoss = 23,  // [name id | ledger kind << 32, count]: something missing, reported by a source
  GraphNode = 24,   // [node id, id of the node it was copied from or 0]: made by the innermost span
  DeviceAllocation = 25,  // src/wire/device.h has the rest
  Metadata = 26,          // [name id of the key | name id of the JSON text << 32]
  OpShort = 27,     // [name id | scope << 32, record function id | (sequence number + 1) << 32]: an
                    // OpBegin without a forward thread, whose numbers fit in 32 bits
  MoreText = 28,    // [bytes padded with zeros]: continues a text that did not fit in its record;
                    // the first record has the length, and a text with less is cut
  Arguments = 29,   // [key id | ArgumentType << 32 | extra << 40, value] for each, of the span or
                    // instant recorded last; ArgumentType says what the fields hold
  TensorRole = 30,  // [storage address, name id | TensorPurpose << 32]: what a tensor is for
};

// A typed argument. Only the last one of a record may continue in MoreText.
enum class ArgumentType : std::uint8_t {
  Int = 1,       // value: the number
  Uint = 2,      // value: the number
  Double = 3,    // value: its bits
  Bool = 4,      // extra: 0 or 1; no value
  Text = 5,      // extra: its length; value: the bytes, padded with zeros
  Category = 6,  // no value; the key id is that of the category
};

constexpr unsigned kTicksShift = 18;
constexpr std::uint64_t kTicksMask = (std::uint64_t{1} << 46) - 1;
constexpr std::uint32_t kMaxWordId = 0xffff;
constexpr std::uint32_t kMaxPayloadWords = 1023;

// The scope of an operator that is a call of a Python function (op.h). PyTorch has no such scope.
constexpr std::uint8_t kPythonCallScope = 254;
// Longer names and texts are cut and counted in the trace.
constexpr std::uint32_t kMaxTextBytes = 64 * 1024;

constexpr std::uint64_t make_word(std::uint64_t ticks, std::uint32_t value, WordKind kind) {
  return (ticks << kTicksShift) | (std::uint64_t{value} << 2) | static_cast<std::uint64_t>(kind);
}
constexpr std::uint64_t make_extended(std::uint64_t ticks, ExtendedKind kind,
                                      std::uint32_t payload_words) {
  return make_word(ticks, static_cast<std::uint32_t>(kind) | (payload_words << 6),
                   WordKind::Extended);
}
constexpr WordKind word_kind(std::uint64_t word) {
  return static_cast<WordKind>(word & 3);
}
constexpr std::uint32_t word_value(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 2) & 0xffff;
}
constexpr std::uint64_t word_ticks(std::uint64_t word) {
  return word >> kTicksShift;
}
constexpr ExtendedKind extended_kind(std::uint64_t word) {
  return static_cast<ExtendedKind>(word_value(word) & 63);
}
constexpr std::uint32_t payload_words(std::uint64_t word) {
  return word_kind(word) == WordKind::Extended ? word_value(word) >> 6 : 0;
}

// The values of ChunkHeader::state.
constexpr std::uint32_t kChunkFree = 0;
constexpr std::uint32_t kChunkEvents = 0x31435653;
constexpr std::uint32_t kChunkDictionary = 0x31444353;

constexpr std::uint32_t kChunkBytes = 32 * 1024;

// The header of a chunk, one cache line; words follow. Only its thread writes `committed`.
struct ChunkHeader {
  std::uint32_t committed;      // bytes from the chunk's start that hold finished records
  std::uint32_t state;          // set last when a chunk is taken
  std::uint64_t stream;         // which stream this chunk was filled in
  std::uint64_t thread;         // unique in the process, never used again; 0 in dictionary chunks
  std::uint64_t sequence;       // counts the chunks of this thread from 0
  std::uint64_t base_ticks;     // full stamp, not after the first word's
  std::uint32_t payload_words;  // words other than record heads; set when it is left
  std::uint32_t lost_ends_before;  // ends this thread lost since its last chunk
  std::uint64_t lost_before;       // records it lost since then, including those ends
  std::uint32_t drained;  // bytes moved to files or counted as dropped; written by the drainer
  std::uint32_t reserved;
};
static_assert(sizeof(ChunkHeader) == 64, "one cache line");

constexpr std::uint32_t kChunkFirstWord = sizeof(ChunkHeader);
// Only ends may use these words, so that open scopes can still be closed when memory runs out.
constexpr std::uint32_t kEndReserveBytes = 64 * 8;
// Scopes begin below the first offset and end below the second; `committed` never reaches
// kChunkBytes.
constexpr std::uint32_t kEndLimit = kChunkBytes - 8;
constexpr std::uint32_t kBeginLimit = kEndLimit - kEndReserveBytes;

// The position of a record in its thread's stream.
constexpr std::uint64_t make_position(std::uint64_t sequence, std::uint32_t offset) {
  return sequence * kChunkBytes + offset;
}

}  // namespace detail
}  // namespace sonde
