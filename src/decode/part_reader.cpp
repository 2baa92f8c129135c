// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/part_reader.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/bytes.h"

namespace sonde {
namespace {

using detail::ExtendedKind;
using detail::WordKind;

using Marks = std::span<const PieceMark>;

// Records that add something to the span whose begin came before them.
bool belongs_to_begin(std::uint64_t word) {
  if (detail::word_kind(word) != WordKind::Extended) return false;
  switch (detail::extended_kind(word)) {
    case ExtendedKind::Text:
    case ExtendedKind::MoreText:
    case ExtendedKind::Arguments:
    case ExtendedKind::OpInputs:
    case ExtendedKind::OpTensors:
    case ExtendedKind::OpPlace:
      return true;
    default:
      return false;
  }
}

bool begins_scope(std::uint64_t word) {
  if (detail::word_kind(word) != WordKind::Extended)
    return detail::word_kind(word) != WordKind::End;
  switch (detail::extended_kind(word)) {
    case ExtendedKind::BeginWide:
    case ExtendedKind::OpBegin:
    case ExtendedKind::OpShort:
    case ExtendedKind::ApiBegin:
      return true;
    default:
      return false;
  }
}

bool ends_scope(std::uint64_t word) {
  return detail::word_kind(word) == WordKind::End || detail::word_kind(word) == WordKind::Lap;
}

// Pieces by their marks, each block decompressed once.
class Pieces {
 public:
  Pieces(const BlockFile& file, const std::vector<std::size_t>& events)
      : file_(file), events_(events) {}

  // Null if the file does not hold what the mark says.
  const Piece* at(const PieceMark& mark) {
    if (mark.block >= events_.size()) return nullptr;
    const auto [found, is_new] = blocks_.try_emplace(mark.block);
    if (is_new) load(mark.block, found->second);
    if (mark.number >= found->second.size()) return nullptr;
    const Piece& piece = found->second[mark.number];
    const bool fits = piece.head.thread == mark.thread && piece.position() == mark.position() &&
                      piece.words.size() == mark.word_count;
    return fits ? &piece : nullptr;
  }

 private:
  void load(std::uint32_t block, std::vector<Piece>& pieces) {
    std::vector<std::uint8_t> scratch;
    const auto payload = file_.payload(file_.blocks()[events_[block]], scratch);
    if (!payload) return;
    ByteReader in(*payload);
    while (!in.at_end()) {
      const auto bytes = in.bytes(in.read<std::uint32_t>());
      Piece piece;
      const auto head = decode_events(bytes, piece.words);
      if (!in.ok() || !head) return;
      piece.head = *head;
      pieces.push_back(std::move(piece));
    }
  }

  const BlockFile& file_;
  const std::vector<std::size_t>& events_;
  std::map<std::uint32_t, std::vector<Piece>> blocks_;
};

// Some words of a piece, as a piece of its own that follows the one before.
Piece cut_out(const Piece& from, std::size_t first, std::size_t count) {
  Piece piece;
  piece.head = from.head;
  piece.head.first_offset += static_cast<std::uint32_t>(first * 8);
  piece.head.word_count = static_cast<std::uint32_t>(count);
  piece.head.lost_before = piece.head.lost_ends_before = 0;
  const auto begin = from.words.begin() + static_cast<std::ptrdiff_t>(first);
  piece.words.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  piece.is_joined = true;
  return piece;
}

// What one thread needs. The marks are its own, in order.
class ThreadNeeds {
 public:
  ThreadNeeds(Pieces& pieces, Marks marks) : pieces_(pieces), marks_(marks) {}

  bool collect(std::uint64_t first_ticks, std::uint64_t last_ticks) {
    std::size_t first = 0;
    while (first + 1 < marks_.size() && marks_[first].last_ticks < first_ticks) ++first;
    std::size_t end = first;
    while (end < marks_.size() && marks_[end].first_ticks <= last_ticks) ++end;
    return add_begins(marks_[first]) && add_all(first, end) &&
           (end == marks_.size() || (add_more_after(first, end) && add_ends(end)));
  }
  std::vector<Piece> take() { return std::move(needed_); }

 private:
  bool add_begins(const PieceMark& mark) {
    std::vector<std::uint64_t> open;
    std::merge(mark.scopes.begin(), mark.scopes.end(), mark.ranges.begin(), mark.ranges.end(),
               std::back_inserter(open));
    return std::all_of(open.begin(), open.end(),
                       [this](std::uint64_t at) { return add_begin(at); });
  }

  // The record at that position and those that add to it, which may be in the next piece.
  bool add_begin(std::uint64_t position) {
    auto mark = std::upper_bound(
        marks_.begin(), marks_.end(), position,
        [](std::uint64_t at, const PieceMark& each) { return at < each.position(); });
    if (mark == marks_.begin() || !(--mark)->holds(position)) return false;
    const Piece* piece = pieces_.at(*mark);
    if (piece == nullptr) return false;
    const auto first = static_cast<std::size_t>((position - mark->position()) / 8);
    std::size_t end = first + 1 + detail::payload_words(piece->words[first]);
    end = end_of_more(*piece, end);
    if (end > piece->words.size()) return false;
    needed_.push_back(cut_out(*piece, first, end - first));
    std::uint64_t& word = needed_.back().words.front();
    // A lap ends a scope whose begin is not there.
    if (detail::word_kind(word) == WordKind::Lap)
      word = detail::make_word(detail::word_ticks(word), detail::word_value(word), WordKind::Begin);
    return end < piece->words.size() || add_more(mark + 1);
  }

  // What adds to the last record of the previous piece.
  bool add_more(Marks::iterator mark) {
    for (; mark != marks_.end(); ++mark) {
      const Piece* const piece = pieces_.at(*mark);
      if (piece == nullptr) return false;
      const std::size_t end = end_of_more(*piece, 0);
      if (end > 0) needed_.push_back(cut_out(*piece, 0, end));
      if (end < piece->words.size()) break;
    }
    return true;
  }

  static std::size_t end_of_more(const Piece& piece, std::size_t at) {
    while (at < piece.words.size() && belongs_to_begin(piece.words[at]))
      at += 1 + detail::payload_words(piece.words[at]);
    return at;
  }

  bool add_all(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const Piece* const piece = pieces_.at(marks_[i]);
      if (piece == nullptr) return false;
      needed_.push_back(*piece);
      needed_.back().is_joined = i == first && !is_nothing_open(marks_[i]);
    }
    return true;
  }
  static bool is_nothing_open(const PieceMark& mark) {
    return mark.scopes.empty() && mark.ranges.empty();
  }

  bool add_more_after(std::size_t first, std::size_t end) {
    return first == end || add_more(marks_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  // The ends of what is open where marks_[next] begins.
  bool add_ends(std::size_t next) {
    std::vector<Piece> ends;
    for (const std::uint64_t position : marks_[next].scopes) {
      if (!add_end(next, position, &PieceMark::scopes, ends)) return false;
    }
    for (const std::uint64_t position : marks_[next].ranges) {
      if (!add_end(next, position, &PieceMark::ranges, ends)) return false;
    }
    std::sort(ends.begin(), ends.end(),
              [](const Piece& a, const Piece& b) { return a.position() < b.position(); });
    for (Piece& end : ends) needed_.push_back(std::move(end));
    return true;
  }

  bool add_end(std::size_t next, std::uint64_t position,
               std::vector<std::uint64_t> PieceMark::* list, std::vector<Piece>& ends) {
    const auto has_it = [&](const PieceMark& mark) {
      return std::binary_search((mark.*list).begin(), (mark.*list).end(), position);
    };
    while (next + 1 < marks_.size() && has_it(marks_[next + 1])) ++next;
    const Piece* const piece = pieces_.at(marks_[next]);
    if (piece == nullptr) return false;
    const std::size_t at = list == &PieceMark::scopes ? scope_end(*piece, marks_[next], position)
                                                      : range_end(*piece, position);
    // If the recording ends here, it never ended; otherwise records are missing.
    if (at == piece->words.size()) return next + 1 == marks_.size();
    Piece end = cut_out(*piece, at, 1 + detail::payload_words(piece->words[at]));
    std::uint64_t& word = end.words.front();
    if (detail::word_kind(word) == WordKind::Lap)
      word = detail::make_word(detail::word_ticks(word), 0, WordKind::End);
    ends.push_back(std::move(end));
    return true;
  }

  static std::size_t scope_end(const Piece& piece, const PieceMark& mark, std::uint64_t position) {
    std::vector<std::uint64_t> open = mark.scopes;
    for (std::size_t i = 0; i < piece.words.size();
         i += 1 + detail::payload_words(piece.words[i])) {
      const std::uint64_t word = piece.words[i];
      if (ends_scope(word) && !open.empty()) {
        if (open.back() == position) return i;
        open.pop_back();
      }
      if (begins_scope(word)) open.push_back(mark.position() + i * 8);
    }
    return piece.words.size();
  }

  static std::size_t range_end(const Piece& piece, std::uint64_t position) {
    for (std::size_t i = 0; i < piece.words.size();
         i += 1 + detail::payload_words(piece.words[i])) {
      const std::uint64_t word = piece.words[i];
      if (detail::word_kind(word) == WordKind::Extended &&
          detail::extended_kind(word) == ExtendedKind::EndRange &&
          detail::payload_words(word) > 0 && i + 1 < piece.words.size() &&
          piece.words[i + 1] == position)
        return i;
    }
    return piece.words.size();
  }

  Pieces& pieces_;
  Marks marks_;
  std::vector<Piece> needed_;
};

}  // namespace

std::optional<std::vector<NeededThread>> read_needed(const BlockFile& file,
                                                     const std::vector<std::size_t>& events,
                                                     std::vector<PieceMark> marks,
                                                     std::uint64_t first_ticks,
                                                     std::uint64_t last_ticks) {
  const auto is_before = [](const PieceMark& a, const PieceMark& b) {
    return std::pair(a.thread, a.position()) < std::pair(b.thread, b.position());
  };
  // Marks of a program with one thread are already in order.
  if (!std::is_sorted(marks.begin(), marks.end(), is_before))
    std::sort(marks.begin(), marks.end(), is_before);
  Pieces pieces(file, events);
  std::vector<NeededThread> threads;
  const Marks all = marks;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t end = first;
    while (end < all.size() && all[end].thread == all[first].thread) ++end;
    ThreadNeeds needs(pieces, all.subspan(first, end - first));
    if (!needs.collect(first_ticks, last_ticks)) return std::nullopt;
    threads.push_back({all[first].thread, needs.take()});
    first = end;
  }
  return threads;
}

}  // namespace sonde
