// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which spans are events, and in what order they stand.

#include <algorithm>
#include <array>
#include <string_view>

#include "analyse/event_data.h"

namespace sonde::detail {
namespace {

// What PyTorch leaves out of its list.
constexpr std::array<std::string_view, 6> kHiddenNames = {
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
};
constexpr std::string_view kStepPrefix = "ProfilerStep#";

// What a name makes of an event; looked up once for each name, not for each event.
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
    if (name.substr(0, kStepPrefix.size()) == kStepPrefix) return Class::Step;
    const bool hidden =
        std::find(kHiddenNames.begin(), kHiddenNames.end(), name) != kHiddenNames.end();
    return hidden ? Class::Hidden : Class::Plain;
  }

  const Trace& trace_;
  std::vector<Class> class_;
};

bool is_event(SpanKind kind) {
  switch (kind) {
    case SpanKind::PythonFunction:
    case SpanKind::TraceSpan:
    case SpanKind::ExternalCorrelation:
    case SpanKind::CpuInstantEvent:
      return false;
    default:
      return true;
  }
}

struct Entry {
  Nanos begin_ns;
  Nanos end_ns;
  std::uint32_t row;
  NameNumber name;
};

// Entries of one track after those of another; each track's are in order already.
struct Runs {
  std::vector<Entry> entries;
  std::vector<std::size_t> ends;
};

Runs gather(EventData& data) {
  const Trace& trace = data.trace;
  const SpanTable& spans = trace.spans();
  Names names(trace);
  Runs runs;
  runs.entries.reserve(spans.size());
  const auto add = [&](IdRange<SpanId> of_track) {
    for (const SpanId span : of_track) {
      if (!is_event(spans.kind[span])) continue;
      const StringId name = spans.name[span];
      const Names::Class name_class = names(name);
      if (name_class == Names::Class::Hidden) continue;
      runs.entries.push_back({spans.start_ns[span], trace.end_ns(span), span.value(),
                              name_class == Names::Class::Step
                                  ? data.made_up(MadeUpName::ProfilerStep)
                                  : name.value()});
    }
    runs.ends.push_back(runs.entries.size());
  };
  for (std::size_t track = 0; track < trace.tracks().size(); ++track) {
    add(trace.track_spans(TrackId(track)));
  }
  add(trace.track_spans(TrackId()));
  return runs;
}

// In pairs, until one run is left.
std::vector<Entry> merge(Runs runs, const SpanTable& spans) {
  const auto before = [&spans](const Entry& a, const Entry& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    const std::int64_t a_index = spans.event_index[a.row];
    const std::int64_t b_index = spans.event_index[b.row];
    return a_index >= 0 && b_index >= 0 && a_index < b_index;
  };
  std::vector<Entry> merged(runs.entries.size());
  while (runs.ends.size() > 1) {
    std::vector<std::size_t> ends;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < runs.ends.size(); i += 2) {
      const bool paired = i + 1 < runs.ends.size();
      const std::size_t middle = runs.ends[i];
      const std::size_t end = paired ? runs.ends[i + 1] : middle;
      const auto first = runs.entries.begin();
      const auto at = [first](std::size_t offset) {
        return first + static_cast<std::ptrdiff_t>(offset);
      };
      std::merge(at(begin), at(middle), at(middle), at(end),
                 merged.begin() + static_cast<std::ptrdiff_t>(begin), before);
      ends.push_back(end);
      begin = end;
    }
    runs.entries.swap(merged);
    runs.ends.swap(ends);
  }
  return std::move(runs.entries);
}

std::uint8_t flags_of(const SpanTable& spans, SpanId span) {
  const SpanKind kind = spans.kind[span];
  unsigned flags = 0;
  if ((spans.flags[span] & SpanFlags::kAsync) != 0) {
    flags |= kEventAsync;
  }
  if (is_annotation(kind)) flags |= kEventAnnotation;
  if (device_of(kind) != DeviceType::Cpu) flags |= kEventDevice;
  return static_cast<std::uint8_t>(flags);
}

}  // namespace

void collect_events(EventData& data) {
  const SpanTable& spans = data.trace.spans();
  const std::vector<Entry> entries = merge(gather(data), spans);
  const std::size_t count = entries.size();
  data.row.resize(count);
  data.name.resize(count);
  data.flags.resize(count);
  data.thread.resize(count);
  data.begin_ns.resize(count);
  data.end_ns.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const SpanId span(entries[i].row);
    data.row[i] = span.value();
    data.name[i] = entries[i].name;
    data.flags[i] = flags_of(spans, span);
    data.thread[i] = spans.track[span].value();
    data.begin_ns[i] = entries[i].begin_ns;
    data.end_ns[i] = entries[i].end_ns;
  }
}

}  // namespace sonde::detail
