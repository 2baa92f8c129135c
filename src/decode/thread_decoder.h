// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Turns the words of one thread into rows, in order: pairs begins and ends, finds parents by
// nesting, and converts times to the trace's clock. Knows nothing of files or of other threads.

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

// Consecutive words of a thread. Pieces may overlap: buffers are written to the file while they
// fill, and a live file may repeat what is already in the `.sonde` file.
struct Piece {
  EventsHead head;
  std::vector<std::uint64_t> words;
  bool is_joined = false;  // continues the previous piece, even if words between them were left out

  std::uint64_t position() const { return detail::make_position(head.sequence, head.first_offset); }
};

struct TickWindow {
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;  // ~0 while open
  std::uint32_t row = 0;        // of the windows table
  std::int64_t first_step = 0;
};

// What an id in the words stands for.
struct NameInfo {
  StringId name;
  StringId function;
  StringId file;
  std::int32_t line = -1;
  std::int64_t step = -1;  // if the name is ProfilerStep#N
  StringId overload;       // of an operator
};

// All names of a recording by their id in the words. Numbers count from 0; number 0 is the unknown
// name.
class NameTable {
 public:
  NameTable() : infos_(1) {}
  // Returns false if the id is taken; the first name stays.
  bool set(std::uint64_t id, const NameInfo& info);
  // For names that are in the words themselves.
  std::uint32_t add(const NameInfo& info);
  std::uint32_t find(std::uint64_t id) const {
    if (id < small_.size()) return small_[id];
    const auto found = large_.find(id);
    return found != large_.end() ? found->second : 0;
  }
  const NameInfo& operator[](std::uint32_t number) const { return infos_[number]; }
  // Whether any of them has a place in the source, or names an overload.
  bool has_sites() const { return has_sites_; }
  bool has_overloads() const { return has_overloads_; }

 private:
  std::vector<NameInfo> infos_;
  bool has_sites_ = false;
  bool has_overloads_ = false;
  std::vector<std::uint32_t> small_;
  std::unordered_map<std::uint64_t, std::uint32_t> large_;
};

// Ends recorded on another thread, by the position of the begin.
struct ForeignEnd {
  std::uint64_t ticks = 0;
  std::uint64_t thread = 0;  // that ended it
};
using ForeignEnds = std::unordered_map<std::uint64_t, ForeignEnd>;

// The fewest payload words of a record of this kind; for an unknown kind, more than any record has.
std::size_t least_payload_words(detail::ExtendedKind kind);

// What the trace is for; OpenOptions::for_operator_table says what is left out. The table by name
// does not need what operators were given.
enum class ReadFor : std::uint8_t { Everything, OperatorTable, TableByName };

// What several threads share, all of it read only while they are decoded.
struct DecodeContext {
  const NameTable* names = nullptr;
  const TickMap* clock = nullptr;
  std::vector<TickWindow> windows;  // ascending, apart from one another
  std::uint64_t last_ticks = 0;     // of the recording: where what never ended is cut
  ReadFor purpose = ReadFor::Everything;
};

class ThreadDecoder;

// Decodes a thread piece by piece, in order of position.
class ThreadDecoding {
 public:
  // The arguments must outlive it.
  ThreadDecoding(const ForeignEnds& foreign_ends, const DecodeContext& context);
  ThreadDecoding(ThreadDecoding&& other) noexcept;
  ~ThreadDecoding();
  void add(const Piece& piece);
  // Ends of ranges of other threads that were in these words: the thread of the begin, its
  // position, and the end.
  struct EndElsewhere {
    std::uint64_t thread;
    std::uint64_t position;
    ForeignEnd end;
  };
  const std::vector<EndElsewhere>& ends_elsewhere() const;
  std::uint64_t last_ticks() const;
  // Set context.last_ticks before you call this.
  DecodedThread finish();

 private:
  std::unique_ptr<ThreadDecoder> decoder_;
};

// Sorts the pieces by position and consumes them.
DecodedThread decode_thread(std::vector<Piece> pieces, const ForeignEnds& foreign_ends,
                            const DecodeContext& context);

}  // namespace sonde
