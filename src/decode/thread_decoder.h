// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The words of one thread, in order, to rows: begins and ends are paired, parents are known by
// nesting, times are on the trace's clock. Knows nothing of files or of other threads.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "decode/decoded_thread.h"
#include "sonde/trace/builder.h"
#include "wire/codec.h"

namespace sonde {

// A stretch of a thread's words. Several may cover the same words: buffers are written to files
// while they fill, and a live file may hold what is in the `.sonde` file already.
struct Piece {
  EventsHead head;
  std::vector<std::uint64_t> words;
  bool is_joined = false;  // it follows the piece before it, whatever was left out between them

  std::uint64_t position() const { return detail::make_position(head.sequence, head.first_offset); }
};

struct TickWindow {
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;  // ~0 while open
  std::uint32_t row = 0;        // in the windows table
  std::int64_t first_step = 0;
};

// What an id in the words stands for.
struct NameInfo {
  StringId name;
  StringId function;
  StringId file;
  std::int32_t line = -1;
  std::int64_t step = -1;  // of a name ProfilerStep#N
  StringId overload;       // of an operator
};

// All names of a recording, numbered from 0, by their id in the words. Number 0 is the unknown
// name.
class NameTable {
 public:
  NameTable() : infos_(1) {}
  // False if it has that id already: the first stays.
  bool set(std::uint64_t id, const NameInfo& info);
  // For names that were written in place.
  std::uint32_t add(const NameInfo& info);
  std::uint32_t find(std::uint64_t id) const {
    if (id < small_.size()) return small_[id];
    const auto found = large_.find(id);
    return found != large_.end() ? found->second : 0;
  }
  const NameInfo& operator[](std::uint32_t number) const { return infos_[number]; }
  // Whether any of them says where it stands in the program.
  bool has_sites() const { return has_sites_; }

 private:
  std::vector<NameInfo> infos_;
  bool has_sites_ = false;
  std::vector<std::uint32_t> small_;
  std::unordered_map<std::uint64_t, std::uint32_t> large_;
};

// Ends that came from another thread, by the position of the begin.
struct ForeignEnd {
  std::uint64_t ticks = 0;
  std::uint64_t thread = 0;  // that ended it
};
using ForeignEnds = std::unordered_map<std::uint64_t, ForeignEnd>;

// How many payload words a record of this kind has at least; of an unknown kind, more than any has.
std::size_t least_payload_words(detail::ExtendedKind kind);

// What several threads share, all of it read only while they are decoded.
struct DecodeContext {
  const NameTable* names = nullptr;
  const TickMap* clock = nullptr;
  std::vector<TickWindow> windows;  // ascending, apart from one another
  std::uint64_t last_ticks = 0;     // of the recording: where what never ended is cut
};

class ThreadDecoder;

// How much a thread recorded, to have room for it from the start; 0: not known.
struct ExpectedRows {
  std::size_t spans = 0;
  std::size_t allocations = 0;
};

// Decodes a thread piece by piece, in order of position.
class ThreadDecoding {
 public:
  // What it refers to must outlive it.
  ThreadDecoding(const ForeignEnds& foreign_ends, const DecodeContext& context,
                 const ExpectedRows& expected);
  ThreadDecoding(ThreadDecoding&& other) noexcept;
  ~ThreadDecoding();
  void add(const Piece& piece);
  // context.last_ticks must be set by now.
  DecodedThread finish();

 private:
  std::unique_ptr<ThreadDecoder> decoder_;
};

// Consumes the pieces, which are sorted by position here.
DecodedThread decode_thread(std::vector<Piece> pieces, const ForeignEnds& foreign_ends,
                            const DecodeContext& context);

}  // namespace sonde
