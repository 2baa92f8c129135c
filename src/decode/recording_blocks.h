// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a recording's blocks and live buffers say, before it is put in order.

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
  std::vector<std::size_t> events;                        // numbers of the blocks that hold them
  std::vector<Piece> pieces;                              // those of live buffers
  std::optional<CountsBlock> counts;                      // and what belongs to them, if asked for
  std::optional<OperatorCounts> operators;
  std::vector<ThreadCounts> thread_counts;
  std::vector<StepMark> steps;
  std::vector<PieceMark> marks;
  bool has_buffers = false;        // live ones were read too
  std::optional<ToldLosses> told;  // by them
  std::uint64_t undecodable = 0;
  std::uint64_t cut_names = 0;
};

enum class BlockChoice : std::uint8_t {
  Events,   // all but the counts
  Counted,  // all but events and the names in them
  Part,     // all of it, for a part of the events
  Outline,  // without metadata and counts as well: nothing that can be large
};
// Adds what the file has. What makes no sense is left out, and the builder's ledger says so.
void read_blocks(const BlockFile& file, Recording& recording,
                 BlockChoice choice = BlockChoice::Events);
// Where the pieces of the events are, or nothing if that cannot be read.
std::vector<PieceMark> read_marks(const BlockFile& file);
// The live buffers that a file without an end names, or why they cannot be had; nothing where it
// names none.
std::optional<Result<LiveBuffers>> find_live_buffers(const BlockFile& file);
// Whether it ended well and says how much it holds.
bool has_counts(const BlockFile& file);
// How many bytes of blocks and live buffers must be decoded to read it all.
std::uint64_t bytes_to_decode(const BlockFile& file);
// Removes the live file that the file names, if it is that recording's, also after a clean end.
void remove_live_file(const BlockFile& file);
// Who recorded; nothing if that is not told.
std::optional<ProcessBlock> process_of(const BlockFile& file);
void add_live_buffers(const BlockFile& file, Result<LiveBuffers> live, Recording& recording);

}  // namespace sonde
