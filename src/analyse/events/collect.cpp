// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which spans and records of memory are events, and their order.

#include <algorithm>
#include <array>
#include <bitset>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/events/event_data.h"
#include "analyse/events/memory.h"
#include "analyse/events/tree.h"
#include "base/parallel.h"
#include "trace/known_names.h"
#include "trace/recent_rows.h"

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

// The remaining events of one track. Reads some neighbouring spans at a time.
class Run {
 public:
  Run(const Trace& trace, Names& names, IdRange<SpanId> spans)
      : trace_(&trace), names_(&names), spans_(spans) {
    if (spans.empty()) return;
    track_ = trace.spans().track[spans[0]];
    const std::size_t rows = std::min(kRows, spans.size());
    read_.kind.resize(rows);
    read_.name.resize(rows);
    read_.start_ns.resize(rows);
    read_.duration_ns.resize(rows);
    read_.flags.resize(rows);
    read_from(0);
    find();
  }

  bool has_ended() const { return at_ == spans_.size(); }
  SpanId span() const { return spans_[at_]; }
  bool is_step() const { return is_step_; }
  SpanKind kind() const { return read_.kind[place_]; }
  StringId name() const { return read_.name[place_]; }
  std::uint16_t flags() const { return read_.flags[place_]; }
  TrackId track() const { return track_; }
  Nanos begin_ns() const { return begin_ns_; }
  Nanos end_ns() const { return end_ns_; }
  void next() {
    step();
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
  static constexpr std::size_t kRows = 1024;
  struct Read {
    std::vector<SpanKind> kind;
    std::vector<StringId> name;
    std::vector<Nanos> start_ns;
    std::vector<Nanos> duration_ns;
    std::vector<std::uint16_t> flags;
  };

  // Skips spans that are not events.
  void find() {
    for (; at_ < spans_.size(); step()) {
      if (!is_pytorch_event(read_.kind[place_])) continue;
      const Names::Class name = (*names_)(read_.name[place_]);
      if (name == Names::Class::Hidden) continue;
      is_step_ = name == Names::Class::Step;
      begin_ns_ = read_.start_ns[place_];
      end_ns_ = begin_ns_ + read_.duration_ns[place_];
      return;
    }
    read_ = {};
  }
  void step() {
    ++at_;
    ++place_;
    if (place_ == rows_ && at_ < spans_.size()) read_from(at_);
  }
  void read_from(std::size_t at) {
    const SpanTable& spans = trace_->spans();
    const std::size_t first = spans_[at].index();
    rows_ = std::min(kRows - first % kRows, spans_.size() - at);
    place_ = 0;
    spans.kind.read(first, rows_, read_.kind.data());
    spans.name.read(first, rows_, read_.name.data());
    spans.start_ns.read(first, rows_, read_.start_ns.data());
    spans.duration_ns.read(first, rows_, read_.duration_ns.data());
    spans.flags.read(first, rows_, read_.flags.data());
  }

  const Trace* trace_;
  Names* names_;
  IdRange<SpanId> spans_;
  Read read_;
  std::size_t at_ = 0;
  std::size_t place_ = 0;  // of at_ in read_
  std::size_t rows_ = 0;   // in read_
  TrackId track_;
  bool is_step_ = false;
  Nanos begin_ns_ = 0;
  Nanos end_ns_ = 0;
};

// The events of all tracks in one order. Each track is already in order, and often many events of
// one track follow each other.
class Runs {
 public:
  explicit Runs(std::vector<Run> runs) : runs_(std::move(runs)) {
    for (std::uint32_t i = 0; i < runs_.size(); ++i) {
      if (!runs_[i].has_ended()) order_.push_back(i);
    }
    std::make_heap(order_.begin(), order_.end(), IsLater{runs_});
    take_first();
  }

  bool have_ended() const { return order_.empty(); }
  // The one with the next event.
  const Run& first() const { return runs_[order_.back()]; }
  void next() {
    Run& first = runs_[order_.back()];
    first.next();
    if (first.has_ended()) {
      order_.pop_back();
      take_first();
    } else if (order_.size() > 1 && runs_[order_.front()] < first) {
      std::push_heap(order_.begin(), order_.end(), IsLater{runs_});
      take_first();
    }
  }

 private:
  struct IsLater {
    const std::vector<Run>& runs;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return runs[b] < runs[a]; }
  };
  void take_first() {
    if (!order_.empty()) std::pop_heap(order_.begin(), order_.end(), IsLater{runs_});
  }

  std::vector<Run> runs_;
  std::vector<std::uint32_t> order_;  // a heap, but for the last, which is before all others
};

std::vector<Run> runs_of(const Trace& trace, Names& names) {
  std::vector<Run> runs;
  runs.reserve(trace.tracks().size() + 1);
  for (std::size_t track = 0; track < trace.tracks().size(); ++track) {
    runs.emplace_back(trace, names, trace.track_spans(TrackId(track)));
  }
  runs.emplace_back(trace, names, trace.track_spans(TrackId()));
  return runs;
}

std::uint8_t flags_of(std::uint16_t span_flags, SpanKind kind) {
  unsigned flags = 0;
  if ((span_flags & SpanFlags::kAsync) != 0) flags |= kEventAsync;
  if (is_annotation(kind)) flags |= kEventAnnotation;
  if (is_on_device(kind)) flags |= kEventDevice;
  return static_cast<std::uint8_t>(flags);
}

// The kinds of all spans.
std::bitset<256> kinds_of(const SpanTable& spans) {
  std::array<bool, 256> found{};
  if (!spans.kind.materialised() && !spans.empty())
    found[static_cast<std::uint8_t>(spans.kind.null_value())] = true;
  spans.kind.visit_stretches([&found](std::size_t, const SpanKind* kinds, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) found[static_cast<std::uint8_t>(kinds[i])] = true;
  });
  std::bitset<256> kinds;
  for (std::size_t i = 0; i < found.size(); ++i) kinds.set(i, found[i]);
  return kinds;
}

// Whether link_device_work() or place_what_has_no_thread() may show events on other threads, so
// that parents are not known before.
bool may_move_events(const SpanTable& spans) {
  const std::bitset<256> kinds = kinds_of(spans);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<SpanKind>(i);
    if (!kinds.test(i) || !is_pytorch_event(kind)) continue;
    if (is_on_device(kind) || kind == SpanKind::Overhead) return true;
    if (spans.external_id.materialised() && !is_pytorch_operator(kind) && !is_annotation(kind))
      return true;
  }
  return false;
}

// An event before it is in the columns.
struct ListedEvent {
  EventTree::Event event;
  std::uint32_t row;
  EventFlag flags;
  SpanKind kind;
};

class EventLister {
 public:
  explicit EventLister(const EventData& data)
      : data_(data),
        names_(data.trace),
        memory_(data.trace),
        has_memory_(!data.trace.allocations().empty()),
        runs_(runs_of(data.trace, names_)) {}

  // Lists the next events. Returns false if they are the last.
  bool list(std::vector<ListedEvent>& events) {
    constexpr std::size_t kAtOnce = std::size_t{1} << 16;
    events.clear();
    for (; events.size() < kAtOnce; runs_.next()) {
      if (runs_.have_ended()) {
        list_records_before(std::numeric_limits<Nanos>::max(), events);
        return false;
      }
      list(runs_.first(), events);
    }
    return true;
  }

 private:
  void list(const Run& run, std::vector<ListedEvent>& events) {
    const std::uint8_t flags = flags_of(run.flags(), run.kind());
    MemorySums bytes;
    if (has_memory_) {
      list_records_before(run.begin_ns(), events);
      if ((flags & kEventDevice) == 0) bytes = memory_.inside(run.track(), run.end_ns());
    }
    events.push_back({.event = {.thread = run.track().value(),
                                .name = run.is_step() ? data_.made_up(MadeUpName::ProfilerStep)
                                                      : run.name().value(),
                                .nests = (flags & (kEventDevice | kEventAsync)) == 0,
                                .times = {run.begin_ns(), run.end_ns()},
                                .bytes = bytes},
                      .row = run.span().value(),
                      .flags = flags,
                      .kind = run.kind()});
  }

  // A record comes after events that begin at the same time, because those last longer.
  void list_records_before(Nanos begin_ns, std::vector<ListedEvent>& events) {
    memory_.pass(begin_ns, [&](const MemoryEventRow& record) { list(record, events); });
  }
  void list(const MemoryEventRow& record, std::vector<ListedEvent>& events) {
    const AllocationTable& allocations = *data_.allocations;
    MemorySums bytes;
    if (!record.is_failure)
      bytes.add(allocations.device_type[record.row], allocations.bytes[record.row]);
    events.push_back({.event = {.thread = allocations.track[record.row].value(),
                                .name = data_.made_up(record.is_failure ? MadeUpName::OutOfMemory
                                                                        : MadeUpName::Memory),
                                .nests = true,
                                .times = {record.time_ns, record.time_ns},
                                .bytes = bytes},
                      .row = record.row,
                      .flags = kEventMemory,
                      .kind = SpanKind::CpuInstantEvent});
  }

  const EventData& data_;
  Names names_;
  MemoryOfEvents memory_;
  bool has_memory_;
  Runs runs_;
};

// Puts listed events into the columns.
class EventCollector {
 public:
  explicit EventCollector(EventData& data)
      : data_(data),
        has_memory_(!data.trace.allocations().empty()),
        tree_(data),
        is_known_thread_(data.trace.tracks().size()) {
    data.has_tree = !may_move_events(*data.spans);
  }

  void add(const std::vector<ListedEvent>& events) {
    const NameNumber step = data_.made_up(MadeUpName::ProfilerStep);
    for (const ListedEvent& listed : events) {
      const EventTree::Event& event = listed.event;
      row_.push_back(listed.row);
      name_.push_back(event.name);
      flags_.push_back(listed.flags);
      thread_.push_back(event.thread);
      if ((listed.flags & kEventMemory) == 0)
        data_.span_kinds.set(static_cast<std::uint8_t>(listed.kind));
      data_.has_steps = data_.has_steps || event.name == step;
      if (has_memory_) {
        cpu_bytes_.push_back(event.bytes.cpu);
        data_.device_bytes.push_back(event.bytes.device);
      }
      if (!data_.has_tree) continue;
      parent_.push_back(tree_.add(event));
      if (event.nests && event.thread != last_thread_) note_thread(event.thread);
    }
  }
  void finish() {
    row_.finish();
    name_.finish();
    flags_.finish();
    thread_.finish();
    parent_.finish();
    cpu_bytes_.finish();
    if (data_.has_tree) tree_.finish();
  }

 private:
  void note_thread(std::uint32_t thread) {
    last_thread_ = thread;
    if (thread >= is_known_thread_.size() || is_known_thread_[thread]) return;
    is_known_thread_[thread] = true;
    data_.host_threads.push_back(thread);
  }

  EventData& data_;
  bool has_memory_;
  EventTree tree_;
  std::uint32_t last_thread_ = kNoEvent;
  std::vector<bool> is_known_thread_;
  NewRows<std::uint32_t> row_{data_.row};
  NewRows<NameNumber> name_{data_.name};
  NewRows<std::uint8_t> flags_{data_.flags};
  NewRows<std::uint32_t> thread_{data_.thread};
  NewRows<std::uint32_t> parent_{data_.parent};
  NewRows<std::int64_t> cpu_bytes_{data_.cpu_bytes};
};

}  // namespace

void collect_events(EventData& data) {
  const auto collector = std::make_unique<EventCollector>(data);
  EventLister lister(data);
  using Events = std::vector<ListedEvent>;
  make_and_use<Events>([&](Events& events) { return lister.list(events); },
                       [&](const Events& events) { collector->add(events); });
  collector->finish();
}

}  // namespace sonde::detail
