// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto_read_spans.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "base/run_sort.h"
#include "convert/kineto_read_memory.h"

namespace sonde {

namespace {

constexpr std::size_t kRowsAtOnce = 65536;

// Enough of a span to order it, and where to find the rest.
struct SpanKey {
  std::int64_t start;
  std::int64_t duration;
  std::uint32_t row;  // among those of all stretches
  std::uint32_t stretch;
};

bool before(const SpanKey& a, const SpanKey& b) {
  return a.start != b.start ? a.start < b.start : a.duration > b.duration;
}

// Columns that hold nothing are not filled.
struct Used {
  bool correlation = false;
  bool external_id = false;
  bool sequence_number = false;
  bool forward_thread = false;
  bool record_function_id = false;
  bool event_index = false;
  bool flags = false;
  bool stack = false;
  bool module = false;
  bool arguments = false;
  bool category = false;

  void add(const StagedSpan& span) {
    correlation |= span.correlation != 0;
    external_id |= span.external_id != 0;
    sequence_number |= span.sequence_number != -1;
    forward_thread |= span.forward_thread != 0;
    record_function_id |= span.record_function_id != -1;
    event_index |= span.event_index != -1;
    flags |= span.flags != 0;
    stack |= span.stack != kNoRaw;
    module |= span.module != kNoRaw;
    arguments |= span.arguments != kNoRaw;
    category |= span.category != kNoRaw;
  }
  void add(const Used& other) {
    correlation |= other.correlation;
    external_id |= other.external_id;
    sequence_number |= other.sequence_number;
    forward_thread |= other.forward_thread;
    record_function_id |= other.record_function_id;
    event_index |= other.event_index;
    flags |= other.flags;
    stack |= other.stack;
    module |= other.module;
    arguments |= other.arguments;
    category |= other.category;
  }
};

// What a name says about its span.
struct NameFacts {
  std::int64_t step = -1;
  bool is_evaluation = false;  // of a gradient: the engine's own span around it
};

NameFacts facts_of(std::string_view name) {
  static constexpr std::string_view kStep = "ProfilerStep#";
  static constexpr std::string_view kEvaluation = "autograd::engine::evaluate_function: ";
  NameFacts facts;
  facts.is_evaluation = name.substr(0, kEvaluation.size()) == kEvaluation;
  if (name.substr(0, kStep.size()) == kStep) {
    const char* end = name.data() + name.size();
    const auto [after, error] = std::from_chars(name.data() + kStep.size(), end, facts.step);
    const bool whole = error == std::errc() && after == end && facts.step >= 0 &&
                       std::to_string(facts.step) == name.substr(kStep.size());
    if (!whole) facts.step = -1;
  }
  return facts;
}

SpanKind refined_kind(const StagedSpan& span, const NameFacts& facts) {
  if (span.kind == SpanKind::UserAnnotation) {
    if (facts.step >= 0) return SpanKind::Step;
    return span.has_ids ? SpanKind::UserAnnotation : SpanKind::Scope;
  }
  const bool is_async = (span.flags & SpanFlags::kAsync) != 0;
  return is_async && span.kind == SpanKind::Other ? SpanKind::Async : span.kind;
}

RecordScope scope_of(const StagedSpan& span, const NameFacts& facts) {
  if (span.kind == SpanKind::UserAnnotation && span.has_ids) return RecordScope::UserScope;
  if (span.kind != SpanKind::CpuOp) return RecordScope::None;
  const bool is_backward = span.forward_thread > 0 && !facts.is_evaluation;
  return is_backward ? RecordScope::BackwardFunction : RecordScope::Function;
}

class SpanFiller {
 public:
  SpanFiller(TraceBuilder& builder, Joined& joined) : builder_(builder), joined_(joined) {}

  SpanRows fill() {
    count();
    order();
    learn_names();
    allocate();
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
    reserve_rows(new_rows_, rows, Filled::Wholly);
    new_rows_.assign(rows, SpanId::kInvalid);
  }

  // Spans by track, each track's by start and falling duration; what the file has first wins.
  void order() {
    reserve_rows(keys_, keys_total_, Filled::Wholly);
    keys_.resize(keys_total_);
    const auto place = [this](std::size_t s) {
      const std::vector<StagedSpan>& spans = joined_.stretches[s].spans;
      for (std::uint32_t i = 0; i < spans.size(); ++i) {
        if (spans[i].duration == StagedSpan::kHidden) continue;
        keys_[next_[s][track_of(s, spans[i]).index()]++] = {
            spans[i].start, spans[i].duration, first_[s] + i, static_cast<std::uint32_t>(s)};
      }
    };
    parallel_for(joined_.stretches.size(), place, joined_.threads);
    sort();
  }

  // Pieces first, so that all threads have work also where one track has nearly all spans; most
  // pieces then only have to be put one behind the other.
  void sort() {
    std::vector<std::span<SpanKey>> pieces;
    std::vector<std::span<SpanKey>> tracks;
    for (std::size_t t = 0; t + 1 < begins_.size(); ++t) {
      const std::span<SpanKey> track =
          std::span(keys_).subspan(begins_[t], begins_[t + 1] - begins_[t]);
      tracks.push_back(track);
      for (std::size_t at = 0; at < track.size(); at += kRowsAtOnce) {
        pieces.push_back(track.subspan(at, std::min(kRowsAtOnce, track.size() - at)));
      }
    }
    const auto sort_all = [this](const std::vector<std::span<SpanKey>>& parts) {
      parallel_for(
          parts.size(), [&parts](std::size_t i) { run_sort(parts[i], before); }, joined_.threads);
    };
    sort_all(pieces);
    sort_all(tracks);
  }

  void learn_names() {
    const StringPool& strings = builder_.strings();
    names_.reserve(strings.size());
    for (std::size_t i = 0; i < strings.size(); ++i)
      names_.push_back(facts_of(strings[StringId(i)]));
  }

  void allocate() {
    std::vector<std::function<void()>> tasks;
    const auto add = [&](auto& column, bool wanted) {
      if (wanted) {
        tasks.emplace_back([&column, this] {
          reserve_rows(column, keys_total_, Filled::Wholly);
          column.resize(keys_total_);
        });
      }
    };
    add(start_, true);
    add(duration_, true);
    add(name_, true);
    add(track_, true);
    add(kind_, true);
    add(scope_, true);
    add(step_, true);
    add(correlation_, used_.correlation);
    add(external_id_, used_.external_id);
    add(sequence_number_, used_.sequence_number);
    add(forward_thread_, used_.forward_thread);
    add(record_function_id_, used_.record_function_id);
    add(event_index_, used_.event_index);
    add(flags_, used_.flags);
    add(stack_, used_.stack);
    add(module_, used_.module);
    add(arguments_, used_.arguments);
    add(category_, used_.category);
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
      const StagedSpan& span = joined_.stretches[key.stretch].spans[key.row - first_[key.stretch]];
      fill_row(row, TrackId(track), key.stretch, span);
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
    scope_[row] = scope_of(span, facts);
    step_[row] = kind == SpanKind::Step ? facts.step : -1;
    if (used_.correlation) correlation_[row] = span.correlation;
    if (used_.external_id) external_id_[row] = span.external_id;
    if (used_.sequence_number) sequence_number_[row] = span.sequence_number;
    if (used_.forward_thread) forward_thread_[row] = span.forward_thread;
    if (used_.record_function_id) record_function_id_[row] = span.record_function_id;
    if (used_.event_index) event_index_[row] = span.event_index;
    if (used_.flags) flags_[row] = span.flags;
    if (used_.category) category_[row] = joined_.text(stretch, span.category);
    if (used_.stack && span.stack != kNoRaw) stack_[row] = joined_.stacks[stretch][span.stack];
    if (used_.module && span.module != kNoRaw) {
      module_[row] = joined_.modules[stretch][span.module];
    }
    if (used_.arguments && span.arguments != kNoRaw) {
      arguments_[row] = joined_.lists[stretch][span.arguments];
    }
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
  }

  TraceBuilder& builder_;
  Joined& joined_;
  Used used_;
  std::vector<std::uint32_t> first_;
  std::vector<std::vector<std::size_t>> next_;  // by stretch and track: where its next key goes
  std::vector<SpanKey> keys_;
  std::vector<std::size_t> begins_;  // of each track, of those without one, and the end
  std::size_t keys_total_ = 0;
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
};

}  // namespace

SpanRows fill_spans(TraceBuilder& builder, Joined& joined) {
  return SpanFiller(builder, joined).fill();
}

}  // namespace sonde
