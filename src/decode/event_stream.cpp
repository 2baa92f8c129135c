// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/event_stream.h"

#include <algorithm>
#include <map>
#include <thread>

#include "base/bytes.h"
#include "base/parallel.h"

namespace sonde {
namespace {

// Blocks that are read at once, per core.
constexpr std::size_t kBlocksPerCore = 8;

// Calls visit(bytes of a piece) until it returns false. Returns false if the block ends inside a
// piece.
template <typename Visit>
bool for_each_piece(std::span<const std::uint8_t> payload, Visit&& visit) {
  ByteReader in(payload);
  while (!in.at_end()) {
    const auto bytes = in.bytes(in.read<std::uint32_t>());
    if (!in.ok()) return false;
    if (!visit(bytes)) return true;
  }
  return true;
}

}  // namespace

EventStream::EventStream(const BlockFile& file, std::vector<std::size_t> blocks,
                         std::vector<Piece> live, const std::vector<PieceMark>& marks,
                         WordsOfInputs inputs)
    : file_(file), blocks_(std::move(blocks)), live_(std::move(live)), inputs_(inputs) {
  if (heads_from(marks, marked_)) {
    find_pieces(marked_);
  } else {
    marked_.clear();
    find_pieces(read_heads());
  }
}

// False unless the marks cover all pieces, each once.
bool EventStream::heads_from(const std::vector<PieceMark>& marks, Heads& heads) const {
  if (marks.empty()) return false;
  std::vector<std::size_t> count(blocks_.size());
  for (const PieceMark& mark : marks) {
    if (mark.block >= blocks_.size()) return false;
    ++count[mark.block];
  }
  heads.resize(blocks_.size());
  for (std::size_t b = 0; b < heads.size(); ++b) {
    if (count[b] == 0) return false;
    heads[b].resize(count[b]);
  }
  for (const PieceMark& mark : marks) {
    if (mark.number >= heads[mark.block].size() || mark.word_count == 0) return false;
    EventsHead& head = heads[mark.block][mark.number];
    if (head.word_count != 0) return false;
    head.thread = mark.thread;
    head.sequence = mark.sequence;
    head.first_offset = mark.first_offset;
    head.word_count = mark.word_count;
  }
  return true;
}

EventStream::Heads EventStream::read_heads() const {
  Heads heads(blocks_.size());
  parallel_for(blocks_.size(), [&](std::size_t b) {
    std::vector<std::uint8_t> scratch;
    const auto payload = file_.payload(file_.blocks()[blocks_[b]], scratch);
    if (!payload) return;
    for_each_piece(*payload, [&](std::span<const std::uint8_t> piece) {
      const auto head = read_events_head(piece);
      heads[b].push_back(head ? *head : EventsHead());
      return head.has_value();
    });
  });
  return heads;
}

void EventStream::find_pieces(const Heads& heads) {
  threads_.clear();
  places_.clear();
  std::map<std::uint64_t, std::vector<Place>> by_thread;
  const auto add = [&by_thread](const EventsHead& head, std::size_t block, std::size_t number,
                                std::size_t words) {
    if (words == 0) return;
    by_thread[head.thread].push_back(
        {detail::make_position(head.sequence, head.first_offset), static_cast<std::uint32_t>(block),
         static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(words)});
  };
  for (std::size_t b = 0; b < heads.size(); ++b) {
    for (std::size_t i = 0; i < heads[b].size(); ++i)
      add(heads[b][i], b, i, heads[b][i].word_count);
  }
  for (std::size_t i = 0; i < live_.size(); ++i)
    add(live_[i].head, kLive, i, live_[i].words.size());
  for (auto& [id, places] : by_thread) {
    // Of pieces with the same begin the longest comes first; the others add nothing.
    std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return a.position != b.position ? a.position < b.position : a.words > b.words;
    });
    threads_.push_back(id);
    places_.push_back(std::move(places));
  }
}

void EventStream::load(std::size_t block, Loaded& loaded) const {
  loaded.count = 0;
  std::vector<Piece>& pieces = loaded.room.pieces;
  const auto payload = file_.payload(file_.blocks()[blocks_[block]], loaded.room.scratch);
  if (!payload) {
    loaded.problem = payload.error().message;
    return;
  }
  const bool is_whole = for_each_piece(*payload, [&](std::span<const std::uint8_t> bytes) {
    if (loaded.count == pieces.size()) pieces.emplace_back();
    Piece& piece = pieces[loaded.count];
    const auto head = decode_events(bytes, piece.words, inputs_);
    if (!head) {
      loaded.problem = head.error().message;
      return false;
    }
    piece.head = *head;
    ++loaded.count;
    return true;
  });
  if (!is_whole) loaded.problem = "an events block ends inside a piece";
}

bool EventStream::is_as_marked(std::size_t block, const Loaded& loaded) const {
  const std::vector<EventsHead>& heads = marked_[block];
  if (!loaded.problem.empty() || loaded.count != heads.size()) return false;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const EventsHead& head = loaded.room.pieces[i].head;
    if (head.thread != heads[i].thread || head.sequence != heads[i].sequence ||
        head.first_offset != heads[i].first_offset || head.word_count != heads[i].word_count)
      return false;
  }
  return true;
}

EventStream::Done EventStream::run(const Take& take) {
  const std::size_t at_once =
      kBlocksPerCore * std::max<std::size_t>(1, std::thread::hardware_concurrency());
  std::vector<Loaded> loaded(blocks_.size());
  std::vector<Room> spare;
  std::vector<std::size_t> uses(blocks_.size());
  for (const auto& places : places_) {
    for (const Place& place : places) {
      if (place.block != kLive) ++uses[place.block];
    }
  }
  std::vector<std::size_t> next(threads_.size());  // the next place of each thread
  std::vector<std::vector<std::uint32_t>> used(threads_.size());
  const auto advance = [&](std::size_t thread, std::size_t until) {
    const std::vector<Place>& places = places_[thread];
    for (std::size_t& at = next[thread]; at < places.size(); ++at) {
      const Place& place = places[at];
      if (place.block == kLive) {
        take(thread, live_[place.number]);
        continue;
      }
      if (place.block >= until) return;
      if (place.number < loaded[place.block].count)
        take(thread, loaded[place.block].room.pieces[place.number]);
      used[thread].push_back(place.block);
    }
  };
  const auto forget = [&](std::size_t block) {
    spare.push_back(std::exchange(loaded[block].room, {}));
  };

  // Loads the next blocks while the previous ones are used.
  for (std::size_t have = 0, ready = 0; ready < blocks_.size() || have == 0;) {
    const std::size_t until = std::min(blocks_.size(), have + at_once);
    for (std::size_t b = have; b < until && !spare.empty(); ++b) {
      loaded[b].room = std::move(spare.back());
      spare.pop_back();
    }
    spare.clear();
    parallel_for(threads_.size() + until - have, [&](std::size_t task) {
      if (task < threads_.size()) {
        advance(task, have);
      } else {
        load(have + task - threads_.size(), loaded[have + task - threads_.size()]);
      }
    });
    for (std::size_t b = have; b < until && !marked_.empty(); ++b) {
      if (is_as_marked(b, loaded[b])) continue;
      marked_.clear();
      find_pieces(read_heads());
      return {.problems = {}, .fits_marks = false};
    }
    for (std::vector<std::uint32_t>& blocks : used) {
      for (const std::uint32_t block : blocks) {
        if (--uses[block] == 0) forget(block);
      }
      blocks.clear();
    }
    ready = have;
    have = until;
    if (blocks_.empty()) break;
  }
  Done done;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (!loaded[b].problem.empty())
      done.problems.emplace_back(blocks_[b], std::move(loaded[b].problem));
  }
  return done;
}

}  // namespace sonde
