// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/thread_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sonde {

using detail::ExtendedKind;
using detail::WordKind;

std::uint32_t NameTable::add(const NameInfo& info) {
  infos_.push_back(info);
  return static_cast<std::uint32_t>(infos_.size() - 1);
}

void NameTable::set(std::uint64_t id, const NameInfo& info) {
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 16;
  const std::uint32_t number = add(info);
  if (id < kSmall) {
    if (small_.size() <= id) small_.resize(id + 1, 0);
    small_[id] = number;
  } else {
    large_[id] = number;
  }
}

namespace {

constexpr std::uint32_t kNoRow = SpanId::kInvalid;

class ThreadDecoder {
 public:
  ThreadDecoder(const ForeignEnds& foreign_ends, const DecodeContext& context)
      : foreign_ends_(foreign_ends),
        context_(context),
        several_windows_(context.windows.size() > 1) {}

  void reserve(std::size_t spans) {
    out_.start_ns.reserve(spans);
    out_.duration_ns.reserve(spans);
    out_.name.reserve(spans);
    out_.parent.reserve(spans);
    out_.kind.reserve(spans);
    out_.flags.reserve(spans);
  }

  void decode(const Piece& piece) {
    const std::uint64_t position = piece.position();
    std::size_t skip = 0;
    if (position < next_position_) {
      skip = static_cast<std::size_t>((next_position_ - position) / 8);
      if (skip >= piece.words.size()) return;
    } else if (started_ && is_gap(piece)) {
      cut_open_spans();
    }
    if (piece.head.first_offset == detail::kChunkFirstWord && skip == 0) {
      out_.lost += piece.head.lost_before;
      if (piece.head.lost_ends_before > 0) cut_open_spans();
    }
    started_ = true;
    sequence_ = piece.head.sequence;
    base_ticks_ = piece.head.base_ticks;
    position_ = position + skip * 8;
    const std::span<const std::uint64_t> words = std::span(piece.words).subspan(skip);
    for (std::size_t i = 0; i < words.size();) i += record(words.subspan(i));
    next_position_ = position_;
  }

  DecodedThread finish() {
    cut_open_spans();
    return std::move(out_);
  }

 private:
  struct Open {
    std::uint32_t row;  // kNoRow: began outside every window
    bool range;
    std::uint64_t position;
    std::uint64_t end_limit;  // the end of its window
  };

  // Whether words are missing before this piece. A chunk is left when the next record does not
  // fit, so a few bytes may be missing at its end; a chunk that was never filled further than to
  // where we are is whole.
  bool is_gap(const Piece& piece) const {
    if (piece.head.sequence == sequence_) return piece.position() > next_position_;
    return piece.head.sequence != sequence_ + 1 ||
           piece.head.first_offset != detail::kChunkFirstWord;
  }

  std::int64_t to_ns(std::uint64_t ticks) {
    if (!segment_.covers(ticks)) segment_ = context_.clock->segment_at(ticks);
    return segment_.to_ns(ticks);
  }

  // The window that `ticks` lies in; windows are looked through from the last one found.
  int window_at(std::uint64_t ticks) {
    const auto& windows = context_.windows;
    const auto inside = [&](std::size_t i) {
      return ticks >= windows[i].start_ticks && ticks <= windows[i].end_ticks;
    };
    if (window_ < windows.size() && inside(window_)) return static_cast<int>(window_);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if (inside(i)) {
        window_ = i;
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  std::uint32_t innermost() const {
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      if (open->row != kNoRow) return open->row;
    }
    return kNoRow;
  }

  std::uint32_t name_of(std::uint64_t id) {
    const std::uint32_t name = context_.names->find(id);
    if (name == 0) ++out_.undecodable;
    return name;
  }

  // Consumes one record, returns its words.
  std::size_t record(std::span<const std::uint64_t> words) {
    const std::uint64_t word = words[0];
    const std::size_t size = 1 + std::size_t{detail::payload_words(word)};
    if (size > words.size()) {
      ++out_.undecodable;
      position_ += words.size() * 8;
      return words.size();
    }
    const std::uint64_t ticks = full_ticks(word, base_ticks_);
    ++out_.records;
    switch (detail::word_kind(word)) {
      case WordKind::Lap:
        end_scope(ticks);
        begin(ticks, name_of(detail::word_value(word)), false);
        break;
      case WordKind::Begin:
        begin(ticks, name_of(detail::word_value(word)), false);
        break;
      case WordKind::End:
        end_scope(ticks);
        break;
      case WordKind::Extended:
        extended(ticks, detail::extended_kind(word), words.subspan(1, size - 1));
        break;
    }
    position_ += size * 8;
    return size;
  }

  void begin(std::uint64_t ticks, std::uint32_t name, bool range) {
    const int window = window_at(ticks);
    last_begun_ = kNoRow;
    if (window < 0) {
      ++out_.out_of_window;
      open_.push_back({kNoRow, range, position_, ticks});
      return;
    }
    const auto row = static_cast<std::uint32_t>(out_.start_ns.size());
    last_begun_ = row;
    out_.start_ns.push_back(to_ns(ticks));
    out_.duration_ns.push_back(0);
    out_.name.push_back(name);
    out_.parent.push_back(open_.empty() ? kNoRow : innermost());
    out_.flags.push_back(0);
    if (several_windows_) out_.window.push_back(static_cast<std::uint32_t>(window));
    const bool step = range && (*context_.names)[name].step >= 0;
    out_.kind.push_back(step ? SpanKind::Step : range ? SpanKind::UserAnnotation : SpanKind::Scope);
    const std::uint64_t limit = context_.windows[static_cast<std::size_t>(window)].end_ticks;
    if (range) {
      if (const auto foreign = foreign_ends_.find(position_); foreign != foreign_ends_.end()) {
        out_.flags[row] |= SpanFlags::kAsync;
        out_.ended_elsewhere.emplace_back(row, foreign->second.thread);
        finish_row(row, foreign->second.ticks, limit);
        return;
      }
    }
    open_.push_back({row, range, position_, limit});
  }

  void finish_row(std::uint32_t row, std::uint64_t ticks, std::uint64_t limit) {
    if (ticks > limit) {
      ticks = limit;
      out_.flags[row] |= SpanFlags::kUnfinished | SpanFlags::kEndedAfterWindow;
      ++out_.unfinished;
    }
    out_.duration_ns[row] = std::max<std::int64_t>(0, to_ns(ticks) - out_.start_ns[row]);
  }

  void end_scope(std::uint64_t ticks) {
    // Nearly always the last; ranges that are still open may stand above it.
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].range) continue;
      if (open_[i].row != kNoRow) finish_row(open_[i].row, ticks, open_[i].end_limit);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    ++(after_gap_ ? out_.unmatched : out_.out_of_window);
  }

  void end_range(std::uint64_t ticks, std::uint64_t position) {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (!open_[i].range || open_[i].position != position) continue;
      if (open_[i].row != kNoRow) finish_row(open_[i].row, ticks, open_[i].end_limit);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    ++(after_gap_ ? out_.unmatched : out_.out_of_window);
  }

  // What is open ends where we know no more, and is marked so.
  void cut_open_spans() {
    for (const Open& open : open_) {
      if (open.row == kNoRow) continue;
      out_.flags[open.row] |= SpanFlags::kUnfinished;
      ++out_.unfinished;
      const std::uint64_t until = std::min(open.end_limit, context_.last_ticks);
      out_.duration_ns[open.row] =
          std::max<std::int64_t>(0, to_ns(until) - out_.start_ns[open.row]);
    }
    open_.clear();
    after_gap_ = true;
  }

  static std::string text_of(std::span<const std::uint64_t> payload) {
    const std::size_t room = (payload.size() - 1) * 8;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(payload[0], room));
    std::string text(size, '\0');
    if (size > 0) std::memcpy(text.data(), payload.data() + 1, size);
    return text;
  }

  void extended(std::uint64_t ticks, ExtendedKind kind, std::span<const std::uint64_t> payload) {
    static constexpr std::size_t kNeeded[] = {0, 1, 1, 1, 2, 1, 2, 1, 1, 2, 1, 1, 1};
    const auto number = static_cast<std::size_t>(kind);
    if (number == 0 || number >= std::size(kNeeded) || payload.size() < kNeeded[number]) {
      ++out_.undecodable;
      return;
    }
    switch (kind) {
      case ExtendedKind::BeginWide:
        begin(ticks, name_of(payload[0]), false);
        break;
      case ExtendedKind::BeginRange:
        begin(ticks, name_of(payload[0]), true);
        break;
      case ExtendedKind::RangeInline:
        begin(ticks, 0, true);
        if (last_begun_ != kNoRow) out_.named.push_back({last_begun_, text_of(payload)});
        break;
      case ExtendedKind::EndRange:
        end_range(ticks, payload[0]);
        break;
      case ExtendedKind::EndRangeOf:  // used where the range began
        break;
      case ExtendedKind::Text:
        if (last_begun_ != kNoRow) out_.texts.push_back({last_begun_, text_of(payload)});
        break;
      case ExtendedKind::AsyncBegin:
      case ExtendedKind::AsyncEnd:
        async(ticks, kind, payload);
        break;
      default:
        moment(ticks, kind, payload);
    }
  }

  void async(std::uint64_t ticks, ExtendedKind kind, std::span<const std::uint64_t> payload) {
    if (kind == ExtendedKind::AsyncEnd) {
      out_.asyncs.push_back({payload[0], ticks, 0, false, 0});
    } else if (const int window = window_at(ticks); window >= 0) {
      out_.asyncs.push_back(
          {payload[1], ticks, name_of(payload[0]), true, static_cast<std::uint32_t>(window)});
    } else {
      ++out_.out_of_window;
    }
  }

  void moment(std::uint64_t ticks, ExtendedKind kind, std::span<const std::uint64_t> payload) {
    if (window_at(ticks) < 0) {
      ++out_.out_of_window;
      return;
    }
    const std::int64_t time = to_ns(ticks);
    switch (kind) {
      case ExtendedKind::Instant:
        out_.instants.push_back({time, name_of(payload[0]), 0, innermost()});
        break;
      case ExtendedKind::Counter:
        out_.counters.push_back(
            {time, name_of(payload[0]), std::bit_cast<double>(payload[1]), innermost()});
        break;
      default:
        out_.flows.push_back({payload[0], time, innermost(), kind == ExtendedKind::FlowOut});
    }
  }

  const ForeignEnds& foreign_ends_;
  const DecodeContext& context_;
  const bool several_windows_;
  DecodedThread out_;
  std::vector<Open> open_;
  TickMap::Segment segment_;
  std::size_t window_ = 0;
  std::uint64_t base_ticks_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t position_ = 0;       // of the record being decoded
  std::uint64_t next_position_ = 0;  // after the last one decoded
  std::uint32_t last_begun_ = kNoRow;
  bool started_ = false;
  bool after_gap_ = false;
};

}  // namespace

DecodedThread decode_thread(std::vector<Piece> pieces, const ForeignEnds& foreign_ends,
                            const DecodeContext& context) {
  // Of pieces that begin at the same place the longest comes first, and the rest add nothing.
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.position() != b.position() ? a.position() < b.position()
                                        : a.words.size() > b.words.size();
  });
  std::size_t words = 0;
  for (const Piece& piece : pieces) words += piece.words.size();
  ThreadDecoder decoder(foreign_ends, context);
  decoder.reserve(words / 2);
  for (Piece& piece : pieces) {
    decoder.decode(piece);
    piece.words = {};  // as large as the result: not to be held twice
  }
  return decoder.finish();
}

}  // namespace sonde
