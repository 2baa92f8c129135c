// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads the events of a recording a few blocks at a time. Each thread's pieces come in order,
// whatever their order in the file. Some threads read blocks while others use those already read. A
// block is dropped after use, so memory does not grow with the file.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "decode/thread_decoder.h"
#include "file/block_file.h"
#include "wire/piece_mark.h"

namespace sonde {

class EventStream {
 public:
  // `blocks` are the numbers of the events blocks; `live` are pieces of live buffers. If the marks
  // cover all blocks, they say where the pieces are; otherwise the blocks are read twice.
  EventStream(const BlockFile& file, std::vector<std::size_t> blocks, std::vector<Piece> live,
              const std::vector<PieceMark>& marks = {},
              WordsOfInputs inputs = WordsOfInputs::Decode);

  // The ids of the threads that have any words.
  const std::vector<std::uint64_t>& threads() const { return threads_; }

  struct Done {
    std::vector<std::pair<std::size_t, std::string>> problems;  // by block
    bool fits_marks = true;  // false: discard what was taken, and run again
  };
  // Calls take(number of the thread, piece) for all pieces. Pieces of one thread come in order;
  // several threads run at once. May be called again.
  using Take = std::function<void(std::size_t thread, const Piece& piece)>;
  Done run(const Take& take);

 private:
  static constexpr std::uint32_t kLive = 0xffffffff;
  struct Place {
    std::uint64_t position;
    std::uint32_t block;  // in blocks_, or kLive
    std::uint32_t number;
    std::uint32_t words;
  };
  // Memory that is reused for other blocks.
  struct Room {
    std::vector<Piece> pieces;
    std::vector<std::uint8_t> scratch;
  };
  struct Loaded {
    Room room;
    std::size_t count = 0;  // of its complete pieces
    std::string problem;
  };

  using Heads = std::vector<std::vector<EventsHead>>;  // of the pieces of each block
  bool heads_from(const std::vector<PieceMark>& marks, Heads& heads) const;
  Heads read_heads() const;
  void find_pieces(const Heads& heads);
  bool is_as_marked(std::size_t block, const Loaded& loaded) const;
  void load(std::size_t block, Loaded& loaded) const;

  const BlockFile& file_;
  std::vector<std::size_t> blocks_;
  std::vector<Piece> live_;
  WordsOfInputs inputs_;
  std::vector<std::uint64_t> threads_;
  std::vector<std::vector<Place>> places_;  // by thread, in order
  Heads marked_;                            // as the marks say; empty without marks
};

}  // namespace sonde
