// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which spans are events, and their order.

#include <algorithm>
#include <array>
#include <string_view>

#include "analyse/events/event_data.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Names that PyTorch leaves out of its list.
constexpr std::array<std::string_view, 6> kHiddenNames = {
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
};

// What a name means for an event. Each name is looked up once, not once per event.
class Names {
 public:
  enum class Class : std::uint8_t { Unknown, Plain, Hidden, Step };

  explicit Names(const Trace& trace) : trace_(trace), class_(trace.strings().size()) {}

  Class operator()(StringId name) {
    if (!name.valid()) return Class::Plain;
    Class& known = class_[name.index()];
    if (known == Class::Unknown) known = classify(trace_.string(name));
    return known;
  }

 private:
  static Class classify(std::string_view name) {
    if (name.starts_with(kStepPrefix)) return Class::Step;
    const bool hidden =
        std::find(kHiddenNames.begin(), kHiddenNames.end(), name) != kHiddenNames.end();
    return hidden ? Class::Hidden : Class::Plain;
  }

  const Trace& trace_;
  std::vector<Class> class_;
};

// The remaining events of one track.
class Run {
 public:
  Run(const Trace& trace, Names& names, IdRange<SpanId> spans)
      : trace_(&trace), names_(&names), spans_(spans) {
    find();
  }

  bool has_ended() const { return at_ == spans_.size(); }
  SpanId span() const { return spans_[at_]; }
  bool is_step() const { return is_step_; }
  SpanKind kind() const { return kind_; }
  StringId name() const { return name_; }
  Nanos begin_ns() const { return begin_ns_; }
  Nanos end_ns() const { return end_ns_; }
  void next() {
    ++at_;
    find();
  }

  // The one that begins earlier comes first, then the longer one, then the first in the recorder's
  // list.
  friend bool operator<(const Run& a, const Run& b) {
    if (a.begin_ns_ != b.begin_ns_) return a.begin_ns_ < b.begin_ns_;
    if (a.end_ns_ != b.end_ns_) return a.end_ns_ > b.end_ns_;
    const std::int64_t a_index = a.trace_->spans().event_index[a.span()];
    const std::int64_t b_index = b.trace_->spans().event_index[b.span()];
    if (a_index >= 0 && b_index >= 0) return a_index < b_index;
    return a.span() < b.span();
  }

 private:
  // Skips spans that are not events.
  void find() {
    const SpanTable& spans = trace_->spans();
    for (; at_ < spans_.size(); ++at_) {
      const SpanId span = spans_[at_];
      kind_ = spans.kind[span];
      if (!is_pytorch_event(kind_)) continue;
      name_ = spans.name[span];
      const Names::Class name = (*names_)(name_);
      if (name == Names::Class::Hidden) continue;
      is_step_ = name == Names::Class::Step;
      begin_ns_ = spans.start_ns[span];
      end_ns_ = begin_ns_ + spans.duration_ns[span];
      return;
    }
  }

  const Trace* trace_;
  Names* names_;
  IdRange<SpanId> spans_;
  std::size_t at_ = 0;
  bool is_step_ = false;
  SpanKind kind_ = SpanKind::Scope;
  StringId name_;
  Nanos begin_ns_ = 0;
  Nanos end_ns_ = 0;
};

// Visits the events of all tracks in one order. Each track is already in order, and often many
// events of one track follow each other.
template <typename Visit>
void visit_in_order(std::vector<Run> runs, const Visit& visit) {
  const auto later = [](const Run& a, const Run& b) { return b < a; };
  std::erase_if(runs, [](const Run& run) { return run.has_ended(); });
  std::make_heap(runs.begin(), runs.end(), later);
  while (!runs.empty()) {
    std::pop_heap(runs.begin(), runs.end(), later);
    Run& first = runs.back();
    do {
      visit(first);
      first.next();
    } while (!first.has_ended() && (runs.size() == 1 || !(runs.front() < first)));
    if (first.has_ended()) {
      runs.pop_back();
    } else {
      std::push_heap(runs.begin(), runs.end(), later);
    }
  }
}

std::vector<Run> runs_of(const Trace& trace, Names& names) {
  std::vector<Run> runs;
  runs.reserve(trace.tracks().size() + 1);
  for (std::size_t track = 0; track < trace.tracks().size(); ++track) {
    runs.emplace_back(trace, names, trace.track_spans(TrackId(track)));
  }
  runs.emplace_back(trace, names, trace.track_spans(TrackId()));
  return runs;
}

std::uint8_t flags_of(const SpanTable& spans, SpanId span, SpanKind kind) {
  unsigned flags = 0;
  if ((spans.flags[span] & SpanFlags::kAsync) != 0) {
    flags |= kEventAsync;
  }
  if (is_annotation(kind)) flags |= kEventAnnotation;
  if (is_on_device(kind)) flags |= kEventDevice;
  return static_cast<std::uint8_t>(flags);
}

}  // namespace

void collect_events(EventData& data) {
  const SpanTable& spans = data.trace.spans();
  Names names(data.trace);
  visit_in_order(runs_of(data.trace, names), [&](const Run& run) {
    const SpanId span = run.span();
    data.row.push_back(span.value());
    data.name.push_back(run.is_step() ? data.made_up(MadeUpName::ProfilerStep)
                                      : run.name().value());
    data.flags.push_back(flags_of(spans, span, run.kind()));
    data.span_kinds.set(static_cast<std::uint8_t>(run.kind()));
    data.thread.push_back(spans.track[span].value());
  });
}

}  // namespace sonde::detail
