// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/span_rows.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/big_vector.h"
#include "base/parallel.h"
#include "base/run_sort.h"
#include "trace/known_names.h"

namespace sonde {

namespace {

constexpr std::size_t kRowsAtOnce = 65536;

// Enough of a span to order it mostly, and where to find the rest.
struct SpanKey {
  std::int64_t start;
  std::uint32_t row;  // among those of all stretches
  std::uint32_t stretch;
};

// Columns that hold nothing are not filled.
struct Used {
  std::uint16_t fields = 0;
  bool flags = false;
  bool arguments = false;

  void add(const StagedSpan& span) {
    fields |= span.fields;
    flags |= span.flags != 0;
    arguments |= span.arguments != kNoRaw;
  }
  void add(const Used& other) {
    fields |= other.fields;
    flags |= other.flags;
    arguments |= other.arguments;
  }
  bool has(SpanField field) const { return (fields & bit_of(field)) != 0; }
  bool has_source() const { return fields >= bit_of(SpanField::OverloadName); }
};

// The values of a span's fields, asked for in the order of SpanField.
class Values {
 public:
  Values(const Staged& stretch, const StagedSpan& span)
      : next_(stretch.span_values.data() + span.first_value), fields_(span.fields) {}

  std::int64_t number(SpanField field, std::int64_t none) {
    return (fields_ & bit_of(field)) != 0 ? *next_++ : none;
  }
  RawId raw(SpanField field) { return static_cast<RawId>(number(field, kNoRaw)); }

 private:
  const std::int64_t* next_;
  std::uint16_t fields_;
};

// What a name says about its span.
struct NameFacts {
  std::int64_t step = -1;
  bool is_evaluation = false;  // of a gradient: the engine's own span around it
};

NameFacts facts_of(std::string_view name) {
  return {.step = step_number(name), .is_evaluation = name.starts_with(kEvaluateFunction)};
}

bool has_ids(const StagedSpan& span) {
  constexpr std::uint16_t kIds = bit_of(SpanField::ExternalId) | bit_of(SpanField::EventIndex) |
                                 bit_of(SpanField::RecordFunctionId);
  return (span.fields & kIds) != 0;
}

SpanKind refined_kind(const StagedSpan& span, const NameFacts& facts) {
  if (span.kind == SpanKind::UserAnnotation) {
    if (facts.step >= 0) return SpanKind::Step;
    return has_ids(span) ? SpanKind::UserAnnotation : SpanKind::Scope;
  }
  const bool is_async = (span.flags & SpanFlags::kAsync) != 0;
  return is_async && span.kind == SpanKind::Other ? SpanKind::Async : span.kind;
}

RecordScope scope_of(const StagedSpan& span, const NameFacts& facts, std::int64_t forward_thread) {
  if (span.kind == SpanKind::UserAnnotation && has_ids(span)) return RecordScope::UserScope;
  if (span.kind != SpanKind::CpuOp) return RecordScope::None;
  const bool is_backward = forward_thread > 0 && !facts.is_evaluation;
  return is_backward ? RecordScope::BackwardFunction : RecordScope::Function;
}

class SpanFiller {
 public:
  SpanFiller(TraceBuilder& builder, Joined& joined) : builder_(builder), joined_(joined) {}

  SpanRows fill() {
    count();
    learn_names();
    allocate();
    order();
    const std::size_t blocks = (keys_total_ + kRowsAtOnce - 1) / kRowsAtOnce;
    parallel_for(
        blocks, [this](std::size_t block) { fill_rows(block * kRowsAtOnce); }, joined_.threads);
    assign();
    return {std::move(new_rows_), std::move(first_)};
  }

 private:
  TrackId track_of(std::size_t stretch, const StagedSpan& span) const {
    return joined_.tracks[stretch][span.track];
  }

  // How many spans each stretch has on each track, and so where its keys go.
  void count() {
    const std::size_t stretches = joined_.stretches.size();
    const std::size_t tracks = builder_.tracks().size() + 1;
    next_.assign(stretches, std::vector<std::size_t>(tracks, 0));
    std::vector<Used> used(stretches);
    const auto count_stretch = [&](std::size_t s) {
      for (const StagedSpan& span : joined_.stretches[s].spans) {
        if (span.duration == StagedSpan::kHidden) continue;
        ++next_[s][track_of(s, span).index()];
        used[s].add(span);
      }
    };
    parallel_for(stretches, count_stretch, joined_.threads);
    std::uint32_t rows = 0;
    for (std::size_t s = 0; s < stretches; ++s) {
      first_.push_back(rows);
      rows += static_cast<std::uint32_t>(joined_.stretches[s].spans.size());
      used_.add(used[s]);
    }
    for (std::size_t t = 0; t < tracks; ++t) {
      begins_.push_back(keys_total_);
      for (std::vector<std::size_t>& next : next_) {
        keys_total_ += std::exchange(next[t], keys_total_);
      }
    }
    begins_.push_back(keys_total_);
    staged_total_ = rows;
  }

  // Spans by track, each track's by start and falling duration; what the file has first wins.
  void order() {
    const auto place = [this](std::size_t s) {
      const BigVector<StagedSpan>& spans = joined_.stretches[s].spans;
      for (std::uint32_t i = 0; i < spans.size(); ++i) {
        if (spans[i].duration == StagedSpan::kHidden) continue;
        keys_[next_[s][track_of(s, spans[i]).index()]++] = {spans[i].start, first_[s] + i,
                                                            static_cast<std::uint32_t>(s)};
      }
    };
    parallel_for(joined_.stretches.size(), place, joined_.threads);
    sort();
  }

  const StagedSpan& staged(const SpanKey& key) const {
    return joined_.stretches[key.stretch].spans[key.row - first_[key.stretch]];
  }

  bool before(const SpanKey& a, const SpanKey& b) const {
    return a.start != b.start ? a.start < b.start : staged(a).duration > staged(b).duration;
  }

  // Pieces first, so that all threads have work also where one track has nearly all spans; most
  // pieces then stand in order one behind the other.
  void sort() {
    std::vector<std::span<SpanKey>> pieces;
    for (std::size_t t = 0; t + 1 < begins_.size(); ++t) {
      for (std::size_t at = begins_[t]; at < begins_[t + 1]; at += kRowsAtOnce) {
        const std::size_t end = std::min(at + kRowsAtOnce, begins_[t + 1]);
        pieces.push_back(std::span(keys_).subspan(at, end - at));
      }
    }
    sort_all(pieces);
    sort_all(tracks_in_disorder());
  }

  void sort_all(const std::vector<std::span<SpanKey>>& parts) const {
    const auto is_before = [this](const SpanKey& a, const SpanKey& b) { return before(a, b); };
    parallel_for(
        parts.size(), [&](std::size_t i) { run_sort(parts[i], is_before); }, joined_.threads);
  }

  // Where a piece does not follow the one before.
  std::vector<std::span<SpanKey>> tracks_in_disorder() {
    std::vector<std::span<SpanKey>> tracks;
    for (std::size_t t = 0; t + 1 < begins_.size(); ++t) {
      for (std::size_t at = begins_[t] + kRowsAtOnce; at < begins_[t + 1]; at += kRowsAtOnce) {
        if (!before(keys_[at], keys_[at - 1])) continue;
        tracks.push_back(std::span(keys_).subspan(begins_[t], begins_[t + 1] - begins_[t]));
        break;
      }
    }
    return tracks;
  }

  void learn_names() {
    const StringPool& strings = builder_.strings();
    names_.reserve(strings.size());
    for (std::size_t i = 0; i < strings.size(); ++i)
      names_.push_back(facts_of(strings[StringId(i)]));
  }

  // The system clears the pages, which takes longest, on all threads.
  void allocate() {
    std::vector<std::function<void()>> tasks;
    const auto add_rows = [&](auto& column, std::size_t rows, auto value) {
      reserve_big(column, rows);
      tasks.emplace_back([&column, rows, value] {
        touch_reserved(column);
        column.assign(rows, value);
      });
    };
    const auto add = [&](auto& column, bool wanted) {
      using Value = typename std::remove_reference_t<decltype(column)>::value_type;
      if (wanted) add_rows(column, keys_total_, Value());
    };
    add_rows(new_rows_, staged_total_, SpanId::kInvalid);
    add(keys_, true);
    add(start_, true);
    add(duration_, true);
    add(name_, true);
    add(track_, true);
    add(kind_, true);
    add(scope_, true);
    add(step_, true);
    add(correlation_, used_.has(SpanField::Correlation));
    add(external_id_, used_.has(SpanField::ExternalId));
    add(sequence_number_, used_.has(SpanField::SequenceNumber));
    add(forward_thread_, used_.has(SpanField::ForwardThread));
    add(record_function_id_, used_.has(SpanField::RecordFunctionId));
    add(event_index_, used_.has(SpanField::EventIndex));
    add(flags_, used_.flags);
    add(stack_, used_.has(SpanField::Stack));
    add(module_, used_.has(SpanField::Module));
    add(arguments_, used_.arguments);
    add(category_, used_.has(SpanField::Category));
    add(overload_name_, used_.has(SpanField::OverloadName));
    add(source_file_, used_.has(SpanField::SourceFile));
    add(source_line_, used_.has(SpanField::SourceLine));
    add(source_function_, used_.has(SpanField::SourceFunction));
    parallel_for(tasks.size(), [&tasks](std::size_t i) { tasks[i](); }, joined_.threads);
  }

  void fill_rows(std::size_t first) {
    const std::size_t last = std::min(first + kRowsAtOnce, keys_total_);
    auto track = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), first) -
                                          begins_.begin() - 1);
    for (std::size_t row = first; row < last; ++row) {
      while (row >= begins_[track + 1]) ++track;
      const SpanKey& key = keys_[row];
      new_rows_[key.row] = static_cast<std::uint32_t>(row);
      fill_row(row, TrackId(track), key.stretch, staged(key));
    }
  }

  void fill_row(std::size_t row, TrackId track, std::size_t stretch, const StagedSpan& span) {
    const StringId name = joined_.text(stretch, span.name);
    const NameFacts facts = name.valid() ? names_[name.index()] : NameFacts();
    const SpanKind kind = refined_kind(span, facts);
    start_[row] = joined_.absolute(span.start);
    duration_[row] = span.duration;
    name_[row] = name;
    track_[row] = track;
    kind_[row] = kind;
    step_[row] = kind == SpanKind::Step ? facts.step : -1;
    if (used_.flags) flags_[row] = span.flags;
    if (used_.arguments && span.arguments != kNoRaw) {
      arguments_[row] = joined_.lists[stretch][span.arguments];
    }
    const std::int64_t forward_thread = fill_values(row, stretch, span);
    scope_[row] = scope_of(span, facts, forward_thread);
  }

  // Returns the forward thread, which also gives the scope.
  std::int64_t fill_values(std::size_t row, std::size_t stretch, const StagedSpan& span) {
    Values values(joined_.stretches[stretch], span);
    const auto fill = [&](std::vector<std::int64_t>& column, SpanField field, std::int64_t none) {
      const std::int64_t value = values.number(field, none);
      if (used_.has(field)) column[row] = value;
      return value;
    };
    const RawId category = values.raw(SpanField::Category);
    fill(external_id_, SpanField::ExternalId, 0);
    fill(event_index_, SpanField::EventIndex, -1);
    fill(record_function_id_, SpanField::RecordFunctionId, -1);
    fill(correlation_, SpanField::Correlation, 0);
    fill(sequence_number_, SpanField::SequenceNumber, -1);
    const std::int64_t forward_thread = fill(forward_thread_, SpanField::ForwardThread, 0);
    const RawId stack = values.raw(SpanField::Stack);
    const RawId module = values.raw(SpanField::Module);
    if (category != kNoRaw) category_[row] = joined_.text(stretch, category);
    if (stack != kNoRaw) stack_[row] = joined_.stacks[stretch][stack];
    if (module != kNoRaw) module_[row] = joined_.modules[stretch][module];
    if (used_.has_source()) fill_source(row, stretch, values);
    return forward_thread;
  }

  void fill_source(std::size_t row, std::size_t stretch, Values& values) {
    const auto fill = [&](std::vector<StringId>& column, SpanField field) {
      const RawId text = values.raw(field);
      if (text != kNoRaw) column[row] = joined_.text(stretch, text);
    };
    fill(overload_name_, SpanField::OverloadName);
    fill(source_file_, SpanField::SourceFile);
    const std::int64_t line = values.number(SpanField::SourceLine, -1);
    if (used_.has(SpanField::SourceLine)) source_line_[row] = static_cast<std::int32_t>(line);
    fill(source_function_, SpanField::SourceFunction);
  }

  void assign() {
    SpanTable& spans = builder_.spans();
    spans.visit_columns([this](const char*, auto& column) { column.resize(keys_total_); });
    const auto move = [](auto& column, auto& values) {
      if (!values.empty()) column.assign(std::move(values));
    };
    move(spans.start_ns, start_);
    move(spans.duration_ns, duration_);
    move(spans.name, name_);
    move(spans.track, track_);
    move(spans.kind, kind_);
    move(spans.scope, scope_);
    move(spans.step, step_);
    move(spans.correlation, correlation_);
    move(spans.external_id, external_id_);
    move(spans.sequence_number, sequence_number_);
    move(spans.forward_thread, forward_thread_);
    move(spans.record_function_id, record_function_id_);
    move(spans.event_index, event_index_);
    move(spans.flags, flags_);
    move(spans.stack, stack_);
    move(spans.module, module_);
    move(spans.arguments, arguments_);
    move(spans.category, category_);
    move(spans.overload_name, overload_name_);
    move(spans.source_file, source_file_);
    move(spans.source_line, source_line_);
    move(spans.source_function, source_function_);
  }

  TraceBuilder& builder_;
  Joined& joined_;
  Used used_;
  std::vector<std::uint32_t> first_;
  std::vector<std::vector<std::size_t>> next_;  // by stretch and track: where its next key goes
  BigVector<SpanKey> keys_;
  std::vector<std::size_t> begins_;  // of each track, of those without one, and the end
  std::size_t keys_total_ = 0;
  std::size_t staged_total_ = 0;
  std::vector<std::uint32_t> new_rows_;
  std::vector<NameFacts> names_;

  std::vector<Nanos> start_;
  std::vector<Nanos> duration_;
  std::vector<StringId> name_;
  std::vector<TrackId> track_;
  std::vector<SpanKind> kind_;
  std::vector<RecordScope> scope_;
  std::vector<std::int64_t> step_;
  std::vector<std::int64_t> correlation_;
  std::vector<std::int64_t> external_id_;
  std::vector<std::int64_t> sequence_number_;
  std::vector<std::int64_t> forward_thread_;
  std::vector<std::int64_t> record_function_id_;
  std::vector<std::int64_t> event_index_;
  std::vector<std::uint16_t> flags_;
  std::vector<StackId> stack_;
  std::vector<ModuleId> module_;
  std::vector<ArgumentListId> arguments_;
  std::vector<StringId> category_;
  std::vector<StringId> overload_name_;
  std::vector<StringId> source_file_;
  std::vector<std::int32_t> source_line_;
  std::vector<StringId> source_function_;
};

}  // namespace

SpanRows fill_spans(TraceBuilder& builder, Joined& joined) {
  return SpanFiller(builder, joined).fill();
}

}  // namespace sonde
