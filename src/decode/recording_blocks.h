// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a recording's blocks and live buffers contain, before it is sorted.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decode/live_buffers.h"
#include "decode/thread_decoder.h"
#include "file/block_file.h"
#include "sonde/trace/builder.h"
#include "wire/blocks.h"
#include "wire/counts.h"
#include "wire/piece_mark.h"

namespace sonde {

struct ThreadInfo {
  std::int64_t kernel_id = 0;
  StringId name;
};

struct Recording {
  TraceBuilder builder;
  ProcessBlock process;
  std::vector<ClockAnchor> anchors;
  std::vector<MetadataBlock> metadata;
  std::vector<LedgerBlock> ledger;
  std::map<std::uint32_t, std::pair<WindowBlock, std::optional<WindowBlock>>> windows;
  std::map<std::uint64_t, ThreadInfo> threads;
  NameTable names;
  std::unordered_map<std::uint64_t, std::string> places;  // as wire/places.h writes them
  std::vector<std::size_t> events;                        // numbers of the events blocks
  std::vector<Piece> pieces;                              // from live buffers
  std::optional<CountsBlock> counts;                      // and what belongs to them, if requested
  std::optional<OperatorCounts> operators;
  std::vector<ThreadCounts> thread_counts;
  std::vector<StepMark> steps;
  std::vector<PieceMark> marks;
  bool has_buffers = false;        // live buffers were read too
  std::optional<ToldLosses> told;  // by the live buffers
  std::uint64_t undecodable = 0;
  std::uint64_t cut_names = 0;
};

enum class BlockChoice : std::uint8_t {
  Events,   // everything except the counts
  Counted,  // everything except events and the names in them
  Part,     // everything, for a part of the events
  Outline,  // without metadata and counts too, so without anything that can be large
};
// Adds the contents of the file. Leaves out what is invalid, and notes it in the builder's ledger.
void read_blocks(const BlockFile& file, Recording& recording,
                 BlockChoice choice = BlockChoice::Events);
// Where the pieces of the events are; nothing if that cannot be read.
std::vector<PieceMark> read_marks(const BlockFile& file);
// The live buffers that a file without an end names, or why they cannot be read. Nothing if it
// names none.
std::optional<Result<LiveBuffers>> find_live_buffers(const BlockFile& file);
// Whether the recording ended properly and says how much it holds.
bool has_counts(const BlockFile& file);
// How many bytes of blocks and live buffers must be decoded to read everything.
std::uint64_t bytes_to_decode(const BlockFile& file);
// Removes the live file that the file names, if it belongs to this recording. Also after a clean
// end.
void remove_live_file(const BlockFile& file);
// Who recorded; nothing if the file does not say.
std::optional<ProcessBlock> process_of(const BlockFile& file);
void add_live_buffers(const BlockFile& file, Result<LiveBuffers> live, Recording& recording);

}  // namespace sonde
