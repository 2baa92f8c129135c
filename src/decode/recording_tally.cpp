// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/recording_tally.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "decode/note_decoder.h"
#include "decode/thread_decoder.h"
#include "sonde/trace/tables_gen.h"
#include "trace/known_names.h"

namespace sonde {

using detail::ExtendedKind;
using detail::WordKind;

namespace {

constexpr std::uint64_t kOpenEnd = ~std::uint64_t{0};
// Longer names are no steps.
constexpr std::uint64_t kLongestStepName = 40;

}  // namespace

void RecordingTally::Thread::begin_tail(Tail what, std::uint64_t told, std::uint64_t found) {
  if (tail == Tail::Kept && missing_text > 0) ++counts.cut_texts;
  tail = what;
  missing_text = told > found ? told - found : 0;
}

void RecordingTally::window(const WindowBlock& block) {
  if (block.is_end == 0) {
    const bool is_next = block.index == windows_.size() &&
                         (windows_.empty() || windows_.back().start_ticks < block.ticks);
    if (!is_next) return give_up();
    if (!windows_.empty())
      windows_.back().end_ticks = std::min(windows_.back().end_ticks, block.ticks - 1);
    windows_.push_back({block.ticks, kOpenEnd});
    return;
  }
  // A second end would undo what was already counted.
  if (block.index >= windows_.size() || windows_[block.index].end_ticks != kOpenEnd)
    return give_up();
  windows_[block.index].end_ticks = block.ticks;
}

int RecordingTally::window_at(std::uint64_t ticks) const {
  for (std::size_t i = windows_.size(); i-- > 0;) {
    if (ticks < windows_[i].start_ticks) continue;
    return ticks <= windows_[i].end_ticks ? static_cast<int>(i) : -1;
  }
  return -1;
}

std::int64_t RecordingTally::step_of(std::uint64_t name) const {
  if (step_names_.empty()) return -1;
  const auto found = step_names_.find(name);
  return found != step_names_.end() ? found->second : -1;
}

void RecordingTally::add(const EventsHead& head, std::span<const std::uint64_t> words,
                         bool is_still_filled, Place place) {
  if (!is_exact_ || words.empty()) return;
  Thread& thread = threads_[head.thread];
  if (is_still_filled) {
    thread.held.push_back({head, place, {words.begin(), words.end()}});
    return;
  }
  take_held(thread, detail::make_position(head.sequence, head.first_offset));
  take(thread, head, words, place);
}

void RecordingTally::take_held(Thread& thread, std::uint64_t before_position) {
  std::size_t taken = 0;
  for (const Held& held : thread.held) {
    if (detail::make_position(held.head.sequence, held.head.first_offset) >= before_position) break;
    take(thread, held.head, held.words, held.place);
    ++taken;
  }
  thread.held.erase(thread.held.begin(), thread.held.begin() + static_cast<std::ptrdiff_t>(taken));
}

void RecordingTally::settle() {
  for (auto& [id, thread] : threads_) take_held(thread, kOpenEnd);
}

// What is open where the piece begins.
void RecordingTally::mark(const Thread& thread, const EventsHead& head, Place place) {
  PieceMark mark;
  mark.thread = head.thread;
  mark.sequence = head.sequence;
  mark.first_offset = head.first_offset;
  mark.word_count = head.word_count;
  mark.block = place.block;
  mark.number = place.number;
  for (const Open& open : thread.scopes) mark.scopes.push_back(open.position);
  for (const Open& open : thread.ranges) mark.ranges.push_back(open.position);
  marks_.push_back(std::move(mark));
}

void RecordingTally::take(Thread& thread, const EventsHead& head,
                          std::span<const std::uint64_t> words, Place place) {
  const std::uint64_t position = detail::make_position(head.sequence, head.first_offset);
  if (thread.started && position < thread.next_position) return give_up();
  const bool is_gap =
      head.sequence == thread.sequence
          ? position > thread.next_position
          : head.sequence != thread.sequence + 1 || head.first_offset != detail::kChunkFirstWord;
  const std::uint64_t first_ticks = full_ticks(words[0], head.base_ticks);
  if (thread.started && is_gap) cut_open(thread, first_ticks);
  if (head.first_offset == detail::kChunkFirstWord && head.lost_ends_before > 0)
    cut_open(thread, first_ticks);
  thread.started = true;
  thread.sequence = head.sequence;
  thread.position = position;
  mark(thread, head, place);
  std::uint64_t last = first_ticks;
  std::uint64_t least = first_ticks;  // the counter may run back a little
  std::uint64_t most = first_ticks;
  for (std::size_t i = 0; i < words.size();) {
    const std::size_t size = 1 + std::size_t{detail::payload_words(words[i])};
    if (i + size > words.size()) return give_up();
    last = full_ticks(words[i], head.base_ticks);
    least = std::min(least, last);
    most = std::max(most, last);
    record(thread, last, words.subspan(i, size));
    thread.position += size * 8;
    ++records_;
    i += size;
  }
  last_ticks_ = std::max(last_ticks_, last);
  marks_.back().first_ticks = least;
  marks_.back().last_ticks = most;
  thread.next_position = thread.position;
}

void RecordingTally::record(Thread& thread, std::uint64_t ticks,
                            std::span<const std::uint64_t> words) {
  switch (detail::word_kind(words[0])) {
    case WordKind::Lap:
      end_scope(thread, ticks);
      begin(thread, ticks, false, SpanKind::Scope, -1);
      break;
    case WordKind::Begin:
      begin(thread, ticks, false, SpanKind::Scope, -1);
      break;
    case WordKind::End:
      end_scope(thread, ticks);
      break;
    case WordKind::Extended:
      extended(thread, ticks, detail::extended_kind(words[0]), words.subspan(1));
      break;
  }
}

void RecordingTally::begin(Thread& thread, std::uint64_t ticks, bool range, SpanKind kind,
                           std::int64_t step) {
  const int window = window_at(ticks);
  thread.has_last_begun = thread.has_last_recorded = window >= 0;
  thread.wants_inputs = thread.wants_stack = window >= 0 && is_operator(kind);
  if (window < 0) {
    ++thread.counts.out_of_window;
    if (range) {
      thread.unseen_ranges.insert(thread.position);
    } else {
      thread.scopes.push_back({.has_row = false, .position = thread.position});
    }
    return;
  }
  ++thread.by_kind[static_cast<std::size_t>(kind)];
  (range ? thread.ranges : thread.scopes)
      .push_back({.has_row = true,
                  .window = static_cast<std::uint32_t>(window),
                  .step = step,
                  .begin_ticks = ticks,
                  .position = thread.position});
}

void RecordingTally::finish_row(Thread& thread, const Open& open, std::uint64_t ticks) {
  const std::uint64_t limit = windows_[open.window].end_ticks;
  if (ticks > limit) ++thread.counts.unfinished;
  if (open.step < 0) return;
  const std::uint64_t end = std::max(open.begin_ticks, std::min(ticks, limit));
  steps_.push_back({static_cast<std::uint64_t>(open.step), open.begin_ticks, end});
  ++step_count_;
}

void RecordingTally::end_scope(Thread& thread, std::uint64_t ticks) {
  if (thread.scopes.empty()) {
    ++(thread.after_gap ? thread.counts.unmatched : thread.counts.out_of_window);
    return;
  }
  const Open open = thread.scopes.back();
  thread.scopes.pop_back();
  if (open.has_row) finish_row(thread, open, ticks);
}

void RecordingTally::end_range(Thread& thread, std::uint64_t ticks, std::uint64_t position) {
  const auto found =
      std::lower_bound(thread.ranges.begin(), thread.ranges.end(), position,
                       [](const Open& range, std::uint64_t at) { return range.position < at; });
  if (found == thread.ranges.end() || found->position != position) {
    if (thread.unseen_ranges.erase(position) == 0)
      ++(thread.after_gap ? thread.counts.unmatched : thread.counts.out_of_window);
    return;
  }
  finish_row(thread, *found, ticks);
  thread.ranges.erase(found);
}

void RecordingTally::cut_row(Thread& thread, const Open& open, std::uint64_t until) {
  if (!open.has_row) return;
  ++thread.counts.unfinished;
  if (open.step < 0) return;
  const std::uint64_t end =
      std::max(open.begin_ticks, std::min(until, windows_[open.window].end_ticks));
  steps_.push_back({static_cast<std::uint64_t>(open.step), open.begin_ticks, end});
  ++step_count_;
}

void RecordingTally::cut_open(Thread& thread, std::uint64_t until) {
  for (const Open& open : thread.scopes) cut_row(thread, open, until);
  for (const Open& open : thread.ranges) cut_row(thread, open, until);
  thread.scopes.clear();
  thread.ranges.clear();
  thread.unseen_ranges.clear();
  thread.has_last_begun = thread.has_last_recorded = false;
  thread.wants_inputs = thread.wants_stack = false;
  thread.begin_tail(Thread::Tail::None, 0, 0);
  thread.after_gap = true;
}

void RecordingTally::op(Thread& thread, std::uint64_t ticks, bool range,
                        std::uint64_t name_and_scope) {
  const auto number = static_cast<std::uint8_t>((name_and_scope >> 32) & 0xff);
  if (number == detail::kPythonCallScope)
    return begin(thread, ticks, range, SpanKind::PythonFunction, -1);
  const auto scope = static_cast<RecordScope>(number);
  if (scope != RecordScope::UserScope) {
    begin(thread, ticks, range, SpanKind::CpuOp, -1);
    const bool is_gradient = scope == RecordScope::BackwardFunction;
    operators_.gradients += is_gradient && thread.has_last_begun ? 1 : 0;
    return;
  }
  const std::int64_t step = step_of(name_and_scope & 0xffffffff);
  begin(thread, ticks, range, step >= 0 ? SpanKind::Step : SpanKind::UserAnnotation, step);
}

void RecordingTally::inline_range(Thread& thread, std::uint64_t ticks,
                                  std::span<const std::uint64_t> payload) {
  const std::uint64_t told = payload[0];
  const std::uint64_t found = std::min<std::uint64_t>(told, (payload.size() - 1) * 8);
  std::int64_t step = -1;
  if (told <= kLongestStepName) {
    if (found < told) return give_up();
    step = step_number(bytes_of(payload.subspan(1), told));
  }
  begin(thread, ticks, true, step >= 0 ? SpanKind::Step : SpanKind::UserAnnotation, step);
  if (thread.has_last_begun) {
    thread.begin_tail(Thread::Tail::Kept, told, found);
  } else {
    thread.begin_tail(Thread::Tail::Dropped, 0, 0);
  }
}

void RecordingTally::arguments(Thread& thread, std::span<const std::uint64_t> payload) {
  thread.begin_tail(Thread::Tail::Dropped, 0, 0);
  if (!thread.has_last_recorded) return;
  while (!payload.empty()) {
    const std::uint64_t head = payload.front();
    payload = payload.subspan(1);
    switch (static_cast<detail::ArgumentType>((head >> 32) & 0xff)) {
      case detail::ArgumentType::Int:
      case detail::ArgumentType::Uint:
      case detail::ArgumentType::Double:
        if (payload.empty()) return give_up();
        payload = payload.subspan(1);
        break;
      case detail::ArgumentType::Bool:
      case detail::ArgumentType::Category:
        break;
      case detail::ArgumentType::Text: {
        const std::uint64_t told = head >> 40;
        const std::size_t words = std::min<std::size_t>((told + 7) / 8, payload.size());
        thread.begin_tail(Thread::Tail::Kept, told, std::min<std::uint64_t>(told, words * 8));
        payload = payload.subspan(words);
        break;
      }
      default:
        return give_up();
    }
  }
}

void RecordingTally::moment(Thread& thread, std::uint64_t ticks, ExtendedKind kind) {
  const bool is_inside = window_at(ticks) >= 0;
  if (kind == ExtendedKind::Instant) thread.has_last_recorded = is_inside;
  if (!is_inside) {
    ++thread.counts.out_of_window;
    return;
  }
  if (kind == ExtendedKind::Instant) {
    ++thread.counts.instants;
  } else if (kind == ExtendedKind::Counter) {
    ++thread.counts.counters;
  } else if (kind == ExtendedKind::Allocation) {
    ++thread.counts.allocations;
  } else if (kind != ExtendedKind::TensorRole) {
    has_flows_ = true;
  }
}

void RecordingTally::extended(Thread& thread, std::uint64_t ticks, ExtendedKind kind,
                              std::span<const std::uint64_t> payload) {
  if (payload.size() < least_payload_words(kind)) return give_up();
  switch (kind) {
    case ExtendedKind::BeginWide:
      return begin(thread, ticks, false, SpanKind::Scope, -1);
    case ExtendedKind::BeginRange: {
      const std::int64_t step = step_of(payload[0]);
      return begin(thread, ticks, true, step >= 0 ? SpanKind::Step : SpanKind::UserAnnotation,
                   step);
    }
    case ExtendedKind::RangeInline:
      return inline_range(thread, ticks, payload);
    case ExtendedKind::EndRange:
      return end_range(thread, ticks, payload[0]);
    case ExtendedKind::Text:
      if (!thread.has_last_begun) return thread.begin_tail(Thread::Tail::Dropped, 0, 0);
      return thread.begin_tail(Thread::Tail::Kept, payload[0],
                               std::min<std::uint64_t>(payload[0], (payload.size() - 1) * 8));
    case ExtendedKind::MoreText:
      if (thread.tail == Thread::Tail::Dropped) return;
      if (thread.tail == Thread::Tail::None || thread.missing_text == 0) return give_up();
      thread.missing_text -= std::min<std::uint64_t>(thread.missing_text, payload.size() * 8);
      return;
    case ExtendedKind::Arguments:
      return arguments(thread, payload);
    case ExtendedKind::OpBegin:
    case ExtendedKind::OpRange:
      // A gradient: an arrow leads to it from its operator.
      if (payload.size() > 2 && payload[2] != 0) has_flows_ = true;
      return op(thread, ticks, kind == ExtendedKind::OpRange, payload[0]);
    case ExtendedKind::OpShort:
      return op(thread, ticks, false, payload[0]);
    case ExtendedKind::ApiBegin: {
      const auto call = static_cast<SpanKind>((payload[0] >> 32) & 0xff);
      return begin(thread, ticks, false, is_known(call) ? call : SpanKind::Other, -1);
    }
    case ExtendedKind::ThreadNumber:
      thread.counts.logical_thread = payload[0];
      return;
    case ExtendedKind::OpInputs:
      operators_.inputs += std::exchange(thread.wants_inputs, false) ? 1 : 0;
      return;
    case ExtendedKind::OpPlace:
      if ((payload[0] & 0xffffffff) != 0)
        operators_.stacks += std::exchange(thread.wants_stack, false) ? 1 : 0;
      return;
    case ExtendedKind::OpTensors:
    case ExtendedKind::GraphNode:
      return;
    case ExtendedKind::Instant:
    case ExtendedKind::Counter:
    case ExtendedKind::Allocation:
    case ExtendedKind::FlowOut:
    case ExtendedKind::FlowIn:
    case ExtendedKind::TensorRole:
      return moment(thread, ticks, kind);
    case ExtendedKind::EndRangeOf:
    case ExtendedKind::AsyncBegin:
    case ExtendedKind::AsyncEnd:
    case ExtendedKind::DeviceSpan:
    case ExtendedKind::Device:
    case ExtendedKind::DeviceAllocation:
    case ExtendedKind::Metadata:
    case ExtendedKind::SourceLoss:
      break;
  }
  give_up();
}

std::vector<StepMark> RecordingTally::take_steps() {
  return std::exchange(steps_, {});
}

std::vector<PieceMark> RecordingTally::take_marks() {
  return std::exchange(marks_, {});
}

RecordingTally::Sum RecordingTally::finish() {
  settle();
  // A window that ended properly extends beyond its last record.
  for (const Window& window : windows_) {
    if (window.end_ticks != kOpenEnd) last_ticks_ = std::max(last_ticks_, window.end_ticks);
  }
  Sum sum;
  for (auto& [id, thread] : threads_) {
    cut_open(thread, last_ticks_);
    thread.counts.thread = id;
    for (std::size_t kind = 0; kind < thread.by_kind.size(); ++kind) {
      if (thread.by_kind[kind] > 0)
        thread.counts.spans_by_kind.emplace_back(static_cast<std::uint8_t>(kind),
                                                 thread.by_kind[kind]);
    }
    sum.threads.push_back(thread.counts);
  }
  sum.all = {.records = records_,
             .last_ticks = last_ticks_,
             .cut_names = cut_names_,
             .threads = sum.threads.size(),
             .steps = step_count_,
             .has_flows = static_cast<std::uint8_t>(has_flows_ ? 1 : 0)};
  sum.operators = operators_;
  return sum;
}

}  // namespace sonde
