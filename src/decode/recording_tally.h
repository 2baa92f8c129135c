// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Counts what a recording's events will become, while they are written: the numbers that
// `decode_thread` would arrive at, in memory that does not grow with them. What it cannot count in
// passing (work of devices, ends on other threads, records that are not whole) makes it give up;
// then the file has no counts, and its readers decode.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sonde/trace/tables_gen.h"
#include "wire/blocks.h"
#include "wire/codec.h"
#include "wire/counts.h"
#include "wire/piece_mark.h"

namespace sonde {

class RecordingTally {
 public:
  // Call it with the names of steps before the events that use them. Other names need not be
  // passed.
  void name_step(std::uint64_t id, std::int64_t number) { step_names_[id] = number; }
  void count_cut_name() { ++cut_names_; }
  // Call these before the events of the window, and before those that follow it.
  void window(const WindowBlock& block);
  // Pieces of one thread come in order. Only those of the chunk that it is still filling may come
  // before the last ones of its previous chunks.
  struct Place {
    std::uint32_t block;  // of events, counted from 0
    std::uint32_t number;
  };
  void add(const EventsHead& head, std::span<const std::uint64_t> words, bool is_still_filled,
           Place place);
  // The chunks that were full have all come.
  void settle();
  void give_up() { is_exact_ = false; }
  bool is_exact() const { return is_exact_; }

  // Steps that have ended since the last call.
  std::vector<StepMark> take_steps();
  std::size_t steps_waiting() const { return steps_.size(); }

  // The same of pieces.
  std::vector<PieceMark> take_marks();
  std::size_t marks_waiting() const { return marks_.size(); }

  struct Sum {
    CountsBlock all;
    OperatorCounts operators;
    std::vector<ThreadCounts> threads;  // without kernel ids and names
  };
  // Ends what is open. Nothing may be added after it.
  Sum finish();

 private:
  struct Window {
    std::uint64_t start_ticks;
    std::uint64_t end_ticks;  // ~0 while open
  };
  struct Open {
    bool has_row;  // false: it began outside every window
    std::uint32_t window = 0;
    std::int64_t step = -1;
    std::uint64_t begin_ticks = 0;
    std::uint64_t position = 0;  // of a range
  };
  struct Held {
    EventsHead head;
    Place place;
    std::vector<std::uint64_t> words;
  };
  struct Thread;

  void take(Thread& thread, const EventsHead& head, std::span<const std::uint64_t> words,
            Place place);
  void mark(const Thread& thread, const EventsHead& head, Place place);
  void take_held(Thread& thread, std::uint64_t before_position);
  void record(Thread& thread, std::uint64_t ticks, std::span<const std::uint64_t> words);
  void extended(Thread& thread, std::uint64_t ticks, detail::ExtendedKind kind,
                std::span<const std::uint64_t> payload);
  void begin(Thread& thread, std::uint64_t ticks, bool range, SpanKind kind, std::int64_t step);
  void op(Thread& thread, std::uint64_t ticks, bool range, std::uint64_t name_and_scope);
  void inline_range(Thread& thread, std::uint64_t ticks, std::span<const std::uint64_t> payload);
  void finish_row(Thread& thread, const Open& open, std::uint64_t ticks);
  void cut_row(Thread& thread, const Open& open, std::uint64_t until);
  void end_scope(Thread& thread, std::uint64_t ticks);
  void end_range(Thread& thread, std::uint64_t ticks, std::uint64_t position);
  void cut_open(Thread& thread, std::uint64_t until);
  void moment(Thread& thread, std::uint64_t ticks, detail::ExtendedKind kind);
  void arguments(Thread& thread, std::span<const std::uint64_t> payload);
  int window_at(std::uint64_t ticks) const;
  std::int64_t step_of(std::uint64_t name) const;

  std::vector<Window> windows_;
  std::map<std::uint64_t, Thread> threads_;
  std::unordered_map<std::uint64_t, std::int64_t> step_names_;
  std::vector<StepMark> steps_;
  std::vector<PieceMark> marks_;
  std::uint64_t step_count_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t last_ticks_ = 0;
  std::uint64_t cut_names_ = 0;
  OperatorCounts operators_;
  bool has_flows_ = false;
  bool is_exact_ = true;
};

struct RecordingTally::Thread {
  ThreadCounts counts;
  std::array<std::uint64_t, 64> by_kind{};
  std::vector<Open> scopes;
  std::vector<Open> ranges;                         // ascending by position
  std::unordered_set<std::uint64_t> unseen_ranges;  // began outside every window
  std::vector<Held> held;
  std::uint64_t sequence = 0;
  std::uint64_t next_position = 0;
  std::uint64_t position = 0;
  std::uint64_t missing_text = 0;  // bytes still to come
  enum class Tail : std::uint8_t { None, Dropped, Kept } tail = Tail::None;
  bool started = false;
  bool after_gap = false;
  bool has_last_begun = false;     // the span that was begun last is a row
  bool has_last_recorded = false;  // or the instant that came after it
  bool wants_inputs = false;       // it is an operator whose inputs have not come yet
  bool wants_stack = false;        // the same of its stack

  void begin_tail(Tail what, std::uint64_t told, std::uint64_t found);
};

}  // namespace sonde
