// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The events of a recording, a few blocks at a time: the pieces of each thread in order, whatever
// their order in the file. Blocks are read on some threads while others use what was read before,
// and are forgotten once used, so memory does not grow with the file.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decode/thread_decoder.h"
#include "file/block_file.h"

namespace sonde {

class EventStream {
 public:
  // `blocks` are numbers of events blocks; `live` are pieces from elsewhere.
  EventStream(const BlockFile& file, std::vector<std::size_t> blocks, std::vector<Piece> live);

  struct Thread {
    std::uint64_t id;
    std::size_t words = 0;
  };
  // Those that have any words, by their ids.
  const std::vector<Thread>& threads() const { return threads_; }

  // What only all events together tell.
  struct Survey {
    std::unordered_map<std::uint64_t, ForeignEnds> foreign_ends;  // by the thread that began
    std::uint64_t last_ticks = 0;
    std::vector<std::pair<std::size_t, std::string>> problems;  // by block
  };
  // Calls take(number of the thread, piece) for all pieces: for one thread in order, for several at
  // the same time. May be called again.
  using Take = std::function<void(std::size_t thread, const Piece& piece)>;
  Survey run(const Take& take);

 private:
  static constexpr std::uint32_t kLive = 0xffffffff;
  struct Place {
    std::uint64_t position;
    std::uint32_t block;  // in blocks_, or kLive
    std::uint32_t number;
    std::uint32_t words;
  };
  struct Loaded {
    std::vector<Piece> pieces;
    std::size_t count = 0;  // of them that are whole
    std::string problem;
    Survey survey;
  };

  void find_pieces();
  void add_place(const EventsHead& head, std::uint32_t block, std::uint32_t number);
  void load(std::size_t block, Loaded& loaded) const;
  static void survey(const Piece& piece, Survey& sum);

  const BlockFile& file_;
  std::vector<std::size_t> blocks_;
  std::vector<Piece> live_;
  std::vector<Thread> threads_;
  std::vector<std::vector<Place>> places_;  // by thread, in order
};

}  // namespace sonde
