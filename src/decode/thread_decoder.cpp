// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/thread_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_set>

#include "decode/interned_inputs.h"
#include "decode/note_decoder.h"
#include "trace/recent_rows.h"
#include "wire/device.h"

namespace sonde {

using detail::ExtendedKind;
using detail::WordKind;

std::uint32_t NameTable::add(const NameInfo& info) {
  infos_.push_back(info);
  has_sites_ = has_sites_ || info.function.valid() || info.file.valid() || info.line >= 0;
  has_overloads_ = has_overloads_ || info.overload.valid();
  return static_cast<std::uint32_t>(infos_.size() - 1);
}

bool NameTable::set(std::uint64_t id, const NameInfo& info) {
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 16;
  if (find(id) != 0) return false;
  const std::uint32_t number = add(info);
  if (id < kSmall) {
    if (small_.size() <= id) small_.resize(id + 1, 0);
    small_[id] = number;
  } else {
    large_[id] = number;
  }
  return true;
}

namespace {

constexpr std::size_t least_words(ExtendedKind kind) {
  switch (kind) {
    case ExtendedKind::BeginWide:
    case ExtendedKind::BeginRange:
    case ExtendedKind::EndRange:
    case ExtendedKind::Instant:
    case ExtendedKind::FlowOut:
    case ExtendedKind::FlowIn:
    case ExtendedKind::AsyncEnd:
    case ExtendedKind::Text:
    case ExtendedKind::MoreText:
    case ExtendedKind::Arguments:
    case ExtendedKind::RangeInline:
    case ExtendedKind::OpBegin:
    case ExtendedKind::OpRange:
    case ExtendedKind::OpInputs:
    case ExtendedKind::ThreadNumber:
    case ExtendedKind::OpPlace:
    case ExtendedKind::Metadata:
      return 1;
    case ExtendedKind::EndRangeOf:
    case ExtendedKind::Counter:
    case ExtendedKind::AsyncBegin:
    case ExtendedKind::ApiBegin:
    case ExtendedKind::SourceLoss:
    case ExtendedKind::GraphNode:
    case ExtendedKind::OpShort:
    case ExtendedKind::TensorRole:
      return 2;
    case ExtendedKind::OpTensors:
      return 3;
    case ExtendedKind::Allocation:
      return 5;
    case ExtendedKind::DeviceSpan:
      return kDeviceSpanWords;
    case ExtendedKind::DeviceAllocation:
      return kDeviceAllocationWords;
    case ExtendedKind::Device:
      return kDeviceWords;
  }
  return detail::kMaxPayloadWords + 1;  // more than any record has
}

constexpr std::uint32_t kNoRow = SpanId::kInvalid;

// The same by number.
constexpr std::array<std::uint16_t, 64> kLeastWords = [] {
  std::array<std::uint16_t, 64> least{};
  for (std::size_t kind = 0; kind < least.size(); ++kind)
    least[kind] = static_cast<std::uint16_t>(least_words(static_cast<ExtendedKind>(kind)));
  return least;
}();

std::int64_t duration_between(std::int64_t start_ns, std::int64_t end_ns) {
  std::int64_t duration = 0;
  if (__builtin_sub_overflow(end_ns, start_ns, &duration)) return 0;
  return std::max<std::int64_t>(0, duration);
}

}  // namespace

std::size_t least_payload_words(ExtendedKind kind) {
  return least_words(kind);
}

class ThreadDecoder {
 public:
  ThreadDecoder(const ForeignEnds& foreign_ends, const DecodeContext& context)
      : foreign_ends_(foreign_ends),
        context_(context),
        several_windows_(context.windows.size() > 1),
        wants_all_(context.purpose == ReadFor::Everything),
        notes_(*context.names) {}

  void decode(const Piece& piece) {
    const std::uint64_t position = piece.position();
    std::size_t skip = 0;
    if (position < next_position_) {
      skip = static_cast<std::size_t>((next_position_ - position) / 8);
      if (skip >= piece.words.size()) return;
    }
    if (piece.words.empty()) return;
    // If words are missing, open spans end where the next words begin, as far as is known.
    const std::uint64_t first_ticks = full_ticks(piece.words[skip], piece.head.base_ticks);
    if (skip == 0 && started_ && !piece.is_joined && is_gap(piece)) cut_open_spans(first_ticks);
    if (piece.head.first_offset == detail::kChunkFirstWord && skip == 0) {
      out_.counts.lost += piece.head.lost_before;
      if (piece.head.lost_ends_before > 0) cut_open_spans(first_ticks);
    }
    started_ = true;
    thread_ = piece.head.thread;
    sequence_ = piece.head.sequence;
    base_ticks_ = piece.head.base_ticks;
    position_ = position + skip * 8;
    const std::span<const std::uint64_t> words = std::span(piece.words).subspan(skip);
    for (std::size_t i = 0; i < words.size();) i += record(words.subspan(i));
    last_ticks_ = std::max(last_ticks_, ticks_);
    next_position_ = position_;
  }

  const std::vector<ThreadDecoding::EndElsewhere>& ends_elsewhere() const {
    return ends_elsewhere_;
  }
  std::uint64_t last_ticks() const { return last_ticks_; }

  DecodedThread finish() {
    cut_open_spans(context_.last_ticks);
    out_.notes = notes_.finish();
    spans_.finish(rows_);
    allocations_.finish();
    if (!several_windows_) out_.spans.window.clear();
    if (!wants_all_) {
      out_.ops.record_function_id.clear();
      out_.ops.external_id.clear();
    }
    out_.ops.input_texts = inputs_.texts();
    fill_rest(out_.moments.allocations);
    fill_rest(out_.ops.tensors);
    return std::move(out_);
  }

 private:
  // The spans of out_ that began last.
  struct RecentSpans {
    explicit RecentSpans(DecodedThread& out)
        : start_ns(out.spans.start_ns),
          duration_ns(out.spans.duration_ns),
          name(out.spans.name),
          parent(out.spans.parent),
          kind(out.spans.kind),
          flags(out.spans.flags),
          window(out.spans.window),
          scope(out.ops.scope),
          sequence_number(out.ops.sequence_number),
          forward_thread(out.ops.forward_thread),
          record_function_id(out.ops.record_function_id),
          external_id(out.ops.external_id),
          arguments(out.ops.arguments) {}

    template <typename Do>
    void for_each(const Do& act) {
      act(start_ns), act(duration_ns), act(name), act(parent), act(kind), act(flags), act(window);
      act(scope), act(sequence_number), act(forward_thread), act(record_function_id);
      act(external_id), act(arguments);
    }
    // The first row for which there is no room.
    std::size_t end() const { return end_; }
    void make_room() {
      for_each([this](auto& rows) { end_ = rows.make_room(); });
    }
    void finish(std::size_t count) {
      for_each([count](auto& rows) { rows.finish(count); });
    }

    RecentRows<Nanos> start_ns;
    RecentRows<Nanos> duration_ns;
    RecentRows<StringId> name;
    RecentRows<SpanId> parent;
    RecentRows<SpanKind> kind;
    RecentRows<std::uint16_t> flags;
    RecentRows<WindowId> window;
    RecentRows<RecordScope> scope;
    RecentRows<std::int64_t> sequence_number;
    RecentRows<std::int64_t> forward_thread;
    RecentRows<std::int64_t> record_function_id;
    RecentRows<std::int64_t> external_id;
    RecentRows<ArgumentListId> arguments;

   private:
    std::size_t end_ = 0;
  };
  struct NewAllocations {
    explicit NewAllocations(AllocationTable& out)
        : time_ns(out.time_ns),
          bytes(out.bytes),
          device_type(out.device_type),
          flags(out.flags),
          address(out.address),
          total_allocated_bytes(out.total_allocated_bytes),
          total_reserved_bytes(out.total_reserved_bytes),
          device_index(out.device_index),
          span(out.span) {}
    void finish() {
      time_ns.finish(), bytes.finish(), device_type.finish(), flags.finish(), address.finish();
      total_allocated_bytes.finish(), total_reserved_bytes.finish(), device_index.finish();
      span.finish();
    }

    NewRows<Nanos> time_ns;
    NewRows<std::int64_t> bytes;
    NewRows<DeviceType> device_type;
    NewRows<std::uint8_t> flags;
    NewRows<std::uint64_t> address;
    NewRows<std::int64_t> total_allocated_bytes;
    NewRows<std::int64_t> total_reserved_bytes;
    NewRows<std::int32_t> device_index;
    NewRows<SpanId> span;
  };

  struct OpenScope {
    std::uint32_t row;        // kNoRow: began outside every window
    std::uint32_t innermost;  // row of the innermost open scope that has a row, possibly this one
    std::uint64_t end_limit;  // the end of its window
    std::int64_t start_ns;
  };
  // Ranges end in any order. Ended ones stay until they are the last ones, or until there are too
  // many.
  struct OpenRange {
    std::uint32_t row;
    bool ended;
    std::uint64_t position;
    std::uint64_t end_limit;
  };

  // Whether words are missing before this piece. A thread leaves a chunk when the next record does
  // not fit, so unused bytes at the end of a chunk are no gap.
  bool is_gap(const Piece& piece) const {
    if (piece.head.sequence == sequence_) return piece.position() > next_position_;
    return piece.head.sequence != sequence_ + 1 ||
           piece.head.first_offset != detail::kChunkFirstWord;
  }

  std::int64_t to_ns(std::uint64_t ticks) {
    if (!segment_.covers(ticks)) segment_ = context_.clock->segment_at(ticks);
    return segment_.to_ns(ticks);
  }

  // The window that contains `ticks`; -1 if none does. Neighbouring records are nearly always in
  // the same one.
  int window_at(std::uint64_t ticks) {
    const auto& windows = context_.windows;
    const auto inside = [&](std::size_t i) {
      return ticks >= windows[i].start_ticks && ticks <= windows[i].end_ticks;
    };
    if (window_ < windows.size() && inside(window_)) return static_cast<int>(window_);
    const auto after = std::upper_bound(
        windows.begin(), windows.end(), ticks,
        [](std::uint64_t t, const TickWindow& window) { return t < window.start_ticks; });
    if (after == windows.begin()) return -1;
    const auto found = static_cast<std::size_t>(after - windows.begin()) - 1;
    if (!inside(found)) return -1;
    window_ = found;
    return static_cast<int>(found);
  }

  std::uint32_t innermost() const {
    const std::uint32_t scope = scopes_.empty() ? kNoRow : scopes_.back().innermost;
    const std::uint32_t range = ranges_.empty() ? kNoRow : ranges_.back().row;
    if (scope == kNoRow) return range;
    if (range == kNoRow) return scope;
    return std::max(scope, range);  // rows count in order of begin
  }

  std::uint32_t name_of(std::uint64_t id) {
    const std::uint32_t name = context_.names->find(id);
    if (name == 0) ++out_.counts.undecodable;
    return name;
  }

  // Consumes one record and returns its number of words.
  std::size_t record(std::span<const std::uint64_t> words) {
    const std::uint64_t word = words[0];
    const std::size_t size = 1 + std::size_t{detail::payload_words(word)};
    const std::uint64_t ticks = full_ticks(word, base_ticks_);
    ticks_ = ticks;
    if (size > words.size()) {
      ++out_.counts.undecodable;
      position_ += words.size() * 8;
      return words.size();
    }
    ++out_.counts.records;
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
    const bool step = range && (*context_.names)[name].step >= 0;
    begin(ticks, name, range,
          step    ? SpanKind::Step
          : range ? SpanKind::UserAnnotation
                  : SpanKind::Scope);
  }

  void begin(std::uint64_t ticks, std::uint32_t name, bool range, SpanKind kind) {
    const int window = window_at(ticks);
    last_begun_ = kNoRow;
    last_recorded_ = {};
    if (window < 0) {
      ++out_.counts.out_of_window;
      if (range) {
        unseen_ranges_.insert(position_);
      } else {
        scopes_.push_back({kNoRow, scopes_.empty() ? kNoRow : scopes_.back().innermost, ticks, 0});
      }
      return;
    }
    if (rows_ == spans_.end()) spans_.make_room();
    const std::uint32_t row = rows_++;
    last_begun_ = row;
    last_recorded_ = {row, false};
    const std::int64_t start_ns = to_ns(ticks);
    spans_.start_ns.set(row, start_ns);
    spans_.name.set(row, StringId(name));
    spans_.parent.set(row, SpanId(innermost()));
    if (several_windows_)
      spans_.window.set(row, WindowId(context_.windows[static_cast<std::size_t>(window)].row));
    spans_.kind.set(row, kind);
    const std::uint64_t limit = context_.windows[static_cast<std::size_t>(window)].end_ticks;
    if (!range) {
      scopes_.push_back({row, row, limit, start_ns});
      return;
    }
    if (!foreign_ends_.empty()) {
      if (const auto foreign = foreign_ends_.find(position_); foreign != foreign_ends_.end()) {
        add_flags(row, SpanFlags::kAsync);
        out_.spans.ended_elsewhere.emplace_back(row, foreign->second.thread);
        finish_row(row, start_ns, foreign->second.ticks, limit);
        return;
      }
    }
    ranges_.push_back({row, false, position_, limit});
  }

  void add_flags(std::uint32_t row, std::uint16_t flags) {
    spans_.flags.set(row, static_cast<std::uint16_t>(spans_.flags[row] | flags));
  }

  template <typename Table>
  static void fill_rest(Table& table) {
    const std::size_t rows = table.size();
    table.visit_columns([rows](const char*, auto& column) { column.resize(rows); });
  }

  void finish_row(std::uint32_t row, std::int64_t start_ns, std::uint64_t ticks,
                  std::uint64_t limit) {
    if (ticks > limit) {
      ticks = limit;
      add_flags(row, SpanFlags::kUnfinished | SpanFlags::kEndedAfterWindow);
      ++out_.counts.unfinished;
    }
    spans_.duration_ns.set(row, duration_between(start_ns, to_ns(ticks)));
  }

  void end_scope(std::uint64_t ticks) {
    if (scopes_.empty()) {
      ++(after_gap_ ? out_.counts.unmatched : out_.counts.out_of_window);
      return;
    }
    const OpenScope scope = scopes_.back();
    scopes_.pop_back();
    if (scope.row != kNoRow) finish_row(scope.row, scope.start_ns, ticks, scope.end_limit);
  }

  void end_range(std::uint64_t ticks, std::uint64_t position) {
    // Ranges began in the order of their positions.
    const auto found = std::lower_bound(
        ranges_.begin(), ranges_.end(), position,
        [](const OpenRange& range, std::uint64_t at) { return range.position < at; });
    if (found == ranges_.end() || found->position != position || found->ended) {
      if (unseen_ranges_.erase(position) == 0)
        ++(after_gap_ ? out_.counts.unmatched : out_.counts.out_of_window);
      return;
    }
    finish_row(found->row, spans_.start_ns[found->row], ticks, found->end_limit);
    found->ended = true;
    ++ended_ranges_;
    for (; !ranges_.empty() && ranges_.back().ended; --ended_ranges_) ranges_.pop_back();
    if (ended_ranges_ * 2 > ranges_.size()) {
      std::erase_if(ranges_, [](const OpenRange& range) { return range.ended; });
      ended_ranges_ = 0;
    }
  }

  void cut_row(std::uint32_t row, std::uint64_t until, std::uint64_t limit) {
    add_flags(row, SpanFlags::kUnfinished);
    ++out_.counts.unfinished;
    spans_.duration_ns.set(row,
                           duration_between(spans_.start_ns[row], to_ns(std::min(until, limit))));
  }

  // Ends everything open at `until`, after which nothing is known, and marks it as unfinished.
  void cut_open_spans(std::uint64_t until) {
    for (const OpenScope& scope : scopes_) {
      if (scope.row != kNoRow) cut_row(scope.row, until, scope.end_limit);
    }
    for (const OpenRange& range : ranges_) {
      if (!range.ended) cut_row(range.row, until, range.end_limit);
    }
    scopes_.clear();
    ranges_.clear();
    unseen_ranges_.clear();
    ended_ranges_ = 0;
    last_begun_ = kNoRow;
    last_recorded_ = {};
    notes_.forget();
    after_gap_ = true;
  }

  void extended(std::uint64_t ticks, ExtendedKind kind, std::span<const std::uint64_t> payload) {
    if (payload.size() < kLeastWords[static_cast<std::size_t>(kind)]) {
      ++out_.counts.undecodable;
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
        notes_.name(last_begun_, payload);
        break;
      case ExtendedKind::EndRange:
        end_range(ticks, payload[0]);
        break;
      case ExtendedKind::EndRangeOf:  // used where the range began
        ends_elsewhere_.push_back({payload[1], payload[0], {ticks, thread_}});
        break;
      case ExtendedKind::Text:
        notes_.text(last_begun_, payload);
        break;
      case ExtendedKind::MoreText:
        out_.counts.undecodable += notes_.more_text(payload);
        break;
      case ExtendedKind::Arguments:
        out_.counts.undecodable += notes_.arguments(last_recorded_, payload);
        break;
      case ExtendedKind::AsyncBegin:
      case ExtendedKind::AsyncEnd:
        async(ticks, kind, payload);
        break;
      case ExtendedKind::OpBegin:
      case ExtendedKind::OpRange:
        op(ticks, kind == ExtendedKind::OpRange, payload[0], op_numbers(payload));
        break;
      case ExtendedKind::OpShort:
        op(ticks, false, payload[0], short_op_numbers(payload[1]));
        break;
      case ExtendedKind::OpInputs:
        if (last_begun_ != kNoRow && context_.purpose != ReadFor::TableByName)
          spans_.arguments.set(last_begun_, ArgumentListId(inputs_.number_of(payload)));
        break;
      case ExtendedKind::OpTensors:
        if (last_begun_ != kNoRow && wants_all_) tensors(payload);
        break;
      case ExtendedKind::OpPlace:
        if (last_begun_ != kNoRow) {
          out_.ops.places.push_back({last_begun_, static_cast<std::uint32_t>(payload[0]),
                                     static_cast<std::uint32_t>(payload[0] >> 32)});
        }
        break;
      case ExtendedKind::ApiBegin:
        api_call(ticks, payload);
        break;
      case ExtendedKind::GraphNode:
        out_.devices.graph_nodes.push_back({payload[0], payload[1], innermost()});
        break;
      case ExtendedKind::DeviceSpan:
      case ExtendedKind::Device:
      case ExtendedKind::DeviceAllocation:
      case ExtendedKind::Metadata:
      case ExtendedKind::SourceLoss:
        out_.devices.words.push_back(
            detail::make_extended(0, kind, static_cast<std::uint32_t>(payload.size())));
        out_.devices.words.insert(out_.devices.words.end(), payload.begin(), payload.end());
        break;
      case ExtendedKind::ThreadNumber:
        out_.logical_thread = static_cast<std::int64_t>(payload[0]);
        break;
      case ExtendedKind::Instant:
      case ExtendedKind::Counter:
      case ExtendedKind::Allocation:
      case ExtendedKind::FlowOut:
      case ExtendedKind::FlowIn:
      case ExtendedKind::TensorRole:
        moment(ticks, kind, payload);
        break;
    }
  }

  struct OpNumbers {
    std::int64_t sequence_number = -1;
    std::int64_t forward_thread = 0;
    std::int64_t record_function_id = -1;
  };
  static OpNumbers op_numbers(std::span<const std::uint64_t> payload) {
    const auto word = [&](std::size_t i, std::int64_t missing) {
      return i < payload.size() ? static_cast<std::int64_t>(payload[i]) : missing;
    };
    return {word(1, -1), word(2, 0), word(3, -1)};
  }
  static OpNumbers short_op_numbers(std::uint64_t packed) {
    const auto id = static_cast<std::int64_t>(packed & 0xffffffff);
    return {static_cast<std::int64_t>(packed >> 32) - 1, 0, id != 0 ? id : -1};
  }

  void op(std::uint64_t ticks, bool range, std::uint64_t name_and_scope, OpNumbers numbers) {
    const std::uint32_t name = name_of(name_and_scope & 0xffffffff);
    const auto number = static_cast<std::uint8_t>((name_and_scope >> 32) & 0xff);
    if (number == detail::kPythonCallScope)
      return begin(ticks, name, range, SpanKind::PythonFunction);
    const auto recorded = static_cast<RecordScope>(number);
    const RecordScope scope = is_known(recorded) ? recorded : RecordScope::None;
    const bool is_step = (*context_.names)[name].step >= 0;
    begin(ticks, name, range,
          scope != RecordScope::UserScope ? SpanKind::CpuOp
          : is_step                       ? SpanKind::Step
                                          : SpanKind::UserAnnotation);
    if (last_begun_ == kNoRow) return;
    DecodedOps& ops = out_.ops;
    spans_.scope.set(last_begun_, scope);
    spans_.sequence_number.set(last_begun_, numbers.sequence_number);
    spans_.forward_thread.set(last_begun_, numbers.forward_thread);
    ++ops.count;
    if (wants_all_) {
      spans_.record_function_id.set(last_begun_, numbers.record_function_id);
      spans_.external_id.set(last_begun_, ops.count);
    }
    ops.has_gradients = ops.has_gradients || scope == RecordScope::BackwardFunction;
  }

  void api_call(std::uint64_t ticks, std::span<const std::uint64_t> payload) {
    const auto kind = static_cast<SpanKind>((payload[0] >> 32) & 0xff);
    begin(ticks, name_of(payload[0] & 0xffffffff), false, is_known(kind) ? kind : SpanKind::Other);
    if (last_begun_ == kNoRow) return;
    out_.devices.api_calls.push_back(
        {last_begun_, static_cast<std::uint32_t>(payload[0] >> 40), payload[1]});
  }

  void tensors(std::span<const std::uint64_t> payload) {
    for (std::size_t i = 0; i + 3 <= payload.size(); i += 3) {
      TensorUseTable& tensors = out_.ops.tensors;
      tensors.span.push_back(SpanId(last_begun_));
      tensors.index.push_back(static_cast<std::int32_t>(payload[i]));
      tensors.element.push_back(static_cast<std::int32_t>(payload[i] >> 32));
      tensors.tensor_address.push_back(payload[i + 1]);
      tensors.storage_address.push_back(payload[i + 2]);
    }
  }

  void tensor_role(std::int64_t time_ns, std::span<const std::uint64_t> payload) {
    const auto purpose = static_cast<TensorPurpose>(payload[1] >> 32);
    if (!is_known(purpose)) {
      ++out_.counts.undecodable;
      return;
    }
    const std::uint64_t name = payload[1] & 0xffffffff;
    out_.moments.roles.push_back({time_ns, payload[0], name == 0 ? 0 : name_of(name), purpose});
  }

  void allocation(std::int64_t time_ns, std::span<const std::uint64_t> payload) {
    allocations_.time_ns.push_back(time_ns);
    allocations_.bytes.push_back(static_cast<std::int64_t>(payload[1]));
    const auto type = static_cast<DeviceType>(payload[4] & 0xff);
    allocations_.device_type.push_back(is_known(type) ? type : DeviceType::Unknown);
    allocations_.flags.push_back(static_cast<std::uint8_t>(payload[4] >> 8));
    if (!wants_all_) return;
    allocations_.address.push_back(payload[0]);
    allocations_.total_allocated_bytes.push_back(static_cast<std::int64_t>(payload[2]));
    allocations_.total_reserved_bytes.push_back(static_cast<std::int64_t>(payload[3]));
    allocations_.device_index.push_back(static_cast<std::int32_t>(payload[4] >> 32));
    allocations_.span.push_back(SpanId(innermost()));
  }

  void async(std::uint64_t ticks, ExtendedKind kind, std::span<const std::uint64_t> payload) {
    if (kind == ExtendedKind::AsyncEnd) {
      out_.moments.asyncs.push_back({payload[0], ticks, 0, false, 0});
    } else if (const int window = window_at(ticks); window >= 0) {
      out_.moments.asyncs.push_back(
          {payload[1], ticks, name_of(payload[0]), true, static_cast<std::uint32_t>(window)});
    } else {
      ++out_.counts.out_of_window;
    }
  }

  void moment(std::uint64_t ticks, ExtendedKind kind, std::span<const std::uint64_t> payload) {
    if (window_at(ticks) < 0) {
      ++out_.counts.out_of_window;
      if (kind == ExtendedKind::Instant) last_recorded_ = {};
      return;
    }
    const std::int64_t time = to_ns(ticks);
    switch (kind) {
      case ExtendedKind::Instant:
        last_recorded_ = {static_cast<std::uint32_t>(out_.moments.instants.size()), true};
        out_.moments.instants.push_back({time, name_of(payload[0]), 0, innermost()});
        break;
      case ExtendedKind::Counter:
        out_.moments.counters.push_back(
            {time, name_of(payload[0]), std::bit_cast<double>(payload[1]), innermost()});
        break;
      case ExtendedKind::Allocation:
        allocation(time, payload);
        break;
      case ExtendedKind::TensorRole:
        tensor_role(time, payload);
        break;
      default:
        out_.moments.flows.push_back(
            {payload[0], time, innermost(), kind == ExtendedKind::FlowOut});
    }
  }

  const ForeignEnds& foreign_ends_;
  const DecodeContext& context_;
  const bool several_windows_;
  const bool wants_all_;
  DecodedThread out_;
  RecentSpans spans_{out_};
  std::uint32_t rows_ = 0;  // of the spans
  NewAllocations allocations_{out_.moments.allocations};
  NoteDecoder notes_;
  std::vector<OpenScope> scopes_;
  std::vector<OpenRange> ranges_;  // ascending by position; the last one is open
  std::size_t ended_ranges_ = 0;
  InternedInputs inputs_;
  std::unordered_set<std::uint64_t> unseen_ranges_;  // positions of ranges outside every window
  TickMap::Segment segment_;
  std::size_t window_ = 0;
  std::vector<ThreadDecoding::EndElsewhere> ends_elsewhere_;
  std::uint64_t thread_ = 0;
  std::uint64_t ticks_ = 0;  // of the last record
  std::uint64_t last_ticks_ = 0;
  std::uint64_t base_ticks_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t position_ = 0;       // of the record being decoded
  std::uint64_t next_position_ = 0;  // after the last one decoded
  std::uint32_t last_begun_ = kNoRow;
  NoteOwner last_recorded_;
  bool started_ = false;
  bool after_gap_ = false;
};

ThreadDecoding::ThreadDecoding(const ForeignEnds& foreign_ends, const DecodeContext& context)
    : decoder_(std::make_unique<ThreadDecoder>(foreign_ends, context)) {}
ThreadDecoding::ThreadDecoding(ThreadDecoding&& other) noexcept = default;
ThreadDecoding::~ThreadDecoding() = default;
void ThreadDecoding::add(const Piece& piece) {
  decoder_->decode(piece);
}
const std::vector<ThreadDecoding::EndElsewhere>& ThreadDecoding::ends_elsewhere() const {
  return decoder_->ends_elsewhere();
}
std::uint64_t ThreadDecoding::last_ticks() const {
  return decoder_->last_ticks();
}
DecodedThread ThreadDecoding::finish() {
  return decoder_->finish();
}

DecodedThread decode_thread(std::vector<Piece> pieces, const ForeignEnds& foreign_ends,
                            const DecodeContext& context) {
  // Of pieces with the same begin the longest comes first; the others add nothing.
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.position() != b.position() ? a.position() < b.position()
                                        : a.words.size() > b.words.size();
  });
  ThreadDecoding decoding(foreign_ends, context);
  for (const Piece& piece : pieces) decoding.add(piece);
  return decoding.finish();
}

}  // namespace sonde
