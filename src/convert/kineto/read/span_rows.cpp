// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/span_rows.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/big_vector.h"
#include "base/parallel.h"
#include "base/run_sort.h"
#include "trace/known_names.h"

namespace sonde {

namespace {

constexpr std::size_t kRowsAtOnce = 65536;

// Enough of a span to order it in most cases, and where to find the rest.
struct SpanKey {
  std::int64_t start;
  std::uint32_t row;  // counted over all stretches
  std::uint32_t stretch;
};

// What at least one span has. Columns that would be empty are not filled.
class Used {
 public:
  using Bits = std::uint32_t;
  static constexpr Bits kAlways = 0;
  static constexpr Bits kFlags = 1U << 16;
  static constexpr Bits kArguments = 1U << 17;
  static constexpr Bits kSource = bit_of(SpanField::OverloadName) | bit_of(SpanField::SourceFile) |
                                  bit_of(SpanField::SourceLine) | bit_of(SpanField::SourceFunction);

  void add(const StagedSpan& span) {
    bits_ |= span.fields;
    if (span.flags != 0) bits_ |= kFlags;
    if (span.arguments != kNoRaw) bits_ |= kArguments;
  }
  void add(const Used& other) { bits_ |= other.bits_; }
  // Whether any of `wanted` is set: bits of SpanField and the constants above.
  bool has(Bits wanted) const { return wanted == kAlways || (bits_ & wanted) != 0; }

 private:
  Bits bits_ = 0;
};

// A column of the spans while it is filled, in any order and on any thread.
class FilledColumn {
 public:
  FilledColumn(std::vector<FilledColumn*>& all, Used::Bits wanted) : wanted_(wanted) {
    all.push_back(this);
  }
  FilledColumn(const FilledColumn&) = delete;
  FilledColumn& operator=(const FilledColumn&) = delete;
  virtual ~FilledColumn() = default;

  virtual void reserve(std::size_t rows) = 0;
  // Separate from reserve(), because clearing the pages takes the longest.
  virtual void allocate(std::size_t rows) = 0;
  virtual void assign() = 0;
  bool is_wanted(const Used& used) const { return used.has(wanted_); }

 private:
  Used::Bits wanted_;
};

template <typename T>
class Filled final : public FilledColumn {
 public:
  Filled(std::vector<FilledColumn*>& all, Column<T>& column, Used::Bits wanted = Used::kAlways)
      : FilledColumn(all, wanted), column_(column) {}

  T& operator[](std::size_t row) { return values_[row]; }

  void reserve(std::size_t rows) override { reserve_big(values_, rows); }
  void allocate(std::size_t rows) override {
    touch_reserved(values_);
    values_.assign(rows, T());
  }
  void assign() override {
    if (!values_.empty()) column_.assign(std::move(values_));
  }

 private:
  Column<T>& column_;
  std::vector<T> values_;
};

// The values of a span's fields. Ask for them in the order of SpanField.
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

// What is known about a span from its name.
struct NameFacts {
  std::int64_t step = -1;
  bool is_evaluation = false;  // the autograd engine's own span around a gradient
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

  // Counts the spans of each stretch on each track, which gives the place of their keys.
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

  // Orders spans by track, start and falling duration; ties keep the order of the file.
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

  // Sorts runs of a fixed size first, so that all threads have work even if one track has nearly
  // all spans. Most runs then follow each other in order.
  void sort() {
    std::vector<std::span<SpanKey>> runs;
    for (std::size_t t = 0; t + 1 < begins_.size(); ++t) {
      for (std::size_t at = begins_[t]; at < begins_[t + 1]; at += kRowsAtOnce) {
        const std::size_t end = std::min(at + kRowsAtOnce, begins_[t + 1]);
        runs.push_back(std::span(keys_).subspan(at, end - at));
      }
    }
    sort_all(runs);
    sort_all(tracks_in_disorder());
  }

  void sort_all(const std::vector<std::span<SpanKey>>& parts) const {
    const auto is_before = [this](const SpanKey& a, const SpanKey& b) { return before(a, b); };
    parallel_for(
        parts.size(), [&](std::size_t i) { run_sort(parts[i], is_before); }, joined_.threads);
  }

  // The tracks in which a run does not follow the one before.
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

  // Runs on all threads.
  void allocate() {
    reserve_big(new_rows_, staged_total_);
    reserve_big(keys_, keys_total_);
    std::vector<std::function<void()>> tasks;
    tasks.emplace_back([this] {
      touch_reserved(new_rows_);
      new_rows_.assign(staged_total_, SpanId::kInvalid);
    });
    tasks.emplace_back([this] {
      touch_reserved(keys_);
      keys_.assign(keys_total_, SpanKey());
    });
    for (FilledColumn* const column : columns_) {
      if (!column->is_wanted(used_)) continue;
      column->reserve(keys_total_);
      tasks.emplace_back([this, column] { column->allocate(keys_total_); });
    }
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
    if (used_.has(Used::kFlags)) flags_[row] = span.flags;
    if (span.arguments != kNoRaw) {
      arguments_[row] = joined_.lists[stretch][span.arguments];
    }
    const std::int64_t forward_thread = fill_values(row, stretch, span);
    scope_[row] = scope_of(span, facts, forward_thread);
  }

  // Returns the forward thread, which also determines the scope.
  std::int64_t fill_values(std::size_t row, std::size_t stretch, const StagedSpan& span) {
    Values values(joined_.stretches[stretch], span);
    const auto fill = [&](Filled<std::int64_t>& column, SpanField field, std::int64_t none) {
      const std::int64_t value = values.number(field, none);
      if (used_.has(bit_of(field))) column[row] = value;
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
    if (used_.has(Used::kSource)) fill_source(row, stretch, values);
    return forward_thread;
  }

  void fill_source(std::size_t row, std::size_t stretch, Values& values) {
    const auto fill = [&](Filled<StringId>& column, SpanField field) {
      const RawId text = values.raw(field);
      if (text != kNoRaw) column[row] = joined_.text(stretch, text);
    };
    fill(overload_name_, SpanField::OverloadName);
    fill(source_file_, SpanField::SourceFile);
    const std::int64_t line = values.number(SpanField::SourceLine, -1);
    if (used_.has(bit_of(SpanField::SourceLine)))
      source_line_[row] = static_cast<std::int32_t>(line);
    fill(source_function_, SpanField::SourceFunction);
  }

  void assign() {
    spans_.visit_columns([this](const char*, auto& column) { column.resize(keys_total_); });
    for (FilledColumn* const column : columns_) column->assign();
  }

  TraceBuilder& builder_;
  Joined& joined_;
  Used used_;
  std::vector<std::uint32_t> first_;
  std::vector<std::vector<std::size_t>> next_;  // by stretch and track: where its next key goes
  BigVector<SpanKey> keys_;
  std::vector<std::size_t> begins_;  // of each track, of spans without one, and the end
  std::size_t keys_total_ = 0;
  std::size_t staged_total_ = 0;
  std::vector<std::uint32_t> new_rows_;
  std::vector<NameFacts> names_;

  SpanTable& spans_ = builder_.spans();
  std::vector<FilledColumn*> columns_;  // all of the following
  Filled<Nanos> start_{columns_, spans_.start_ns};
  Filled<Nanos> duration_{columns_, spans_.duration_ns};
  Filled<StringId> name_{columns_, spans_.name};
  Filled<TrackId> track_{columns_, spans_.track};
  Filled<SpanKind> kind_{columns_, spans_.kind};
  Filled<RecordScope> scope_{columns_, spans_.scope};
  Filled<std::int64_t> step_{columns_, spans_.step};
  Filled<std::int64_t> correlation_{columns_, spans_.correlation, bit_of(SpanField::Correlation)};
  Filled<std::int64_t> external_id_{columns_, spans_.external_id, bit_of(SpanField::ExternalId)};
  Filled<std::int64_t> sequence_number_{columns_, spans_.sequence_number,
                                        bit_of(SpanField::SequenceNumber)};
  Filled<std::int64_t> forward_thread_{columns_, spans_.forward_thread,
                                       bit_of(SpanField::ForwardThread)};
  Filled<std::int64_t> record_function_id_{columns_, spans_.record_function_id,
                                           bit_of(SpanField::RecordFunctionId)};
  Filled<std::int64_t> event_index_{columns_, spans_.event_index, bit_of(SpanField::EventIndex)};
  Filled<std::uint16_t> flags_{columns_, spans_.flags, Used::kFlags};
  Filled<StackId> stack_{columns_, spans_.stack, bit_of(SpanField::Stack)};
  Filled<ModuleId> module_{columns_, spans_.module, bit_of(SpanField::Module)};
  Filled<ArgumentListId> arguments_{columns_, spans_.arguments, Used::kArguments};
  Filled<StringId> category_{columns_, spans_.category, bit_of(SpanField::Category)};
  Filled<StringId> overload_name_{columns_, spans_.overload_name, bit_of(SpanField::OverloadName)};
  Filled<StringId> source_file_{columns_, spans_.source_file, bit_of(SpanField::SourceFile)};
  Filled<std::int32_t> source_line_{columns_, spans_.source_line, bit_of(SpanField::SourceLine)};
  Filled<StringId> source_function_{columns_, spans_.source_function,
                                    bit_of(SpanField::SourceFunction)};
};

}  // namespace

SpanRows fill_spans(TraceBuilder& builder, Joined& joined) {
  return SpanFiller(builder, joined).fill();
}

}  // namespace sonde
