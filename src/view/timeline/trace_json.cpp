// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/trace_json.h"

#include <algorithm>
#include <array>

#include "base/readable.h"
#include "base/utf8.h"
#include "sonde/version.h"
#include "view/page.h"
#include "view/timeline/views.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostSteps = 20'000;
constexpr std::size_t kMostInstants = 20'000;
constexpr std::size_t kLongestLabel = 600;

std::string_view curve_kind_text(CurveKind kind) {
  switch (kind) {
    case CurveKind::Memory:
      return "memory";
    case CurveKind::Busy:
      return "busy";
    case CurveKind::Queue:
      return "queue";
    case CurveKind::Counter:
      break;
  }
  return "counter";
}

std::string_view unquoted(std::string_view json) {
  const bool is_text = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return is_text ? json.substr(1, json.size() - 2) : json;
}

class TraceJson {
 public:
  TraceJson(const TraceAnswers& answers, std::span<const std::uint32_t> spans_of_track)
      : answers_(answers),
        trace_(answers.trace()),
        index_(answers.index()),
        spans_of_track_(spans_of_track) {}

  std::string make(const std::vector<Curve>& curves) {
    json_.key("sonde").text(SONDE_VERSION);
    json_.key("name").text(readable_line(answers_.name()));
    json_.key("first").text(std::to_string(trace_.first_ns()));
    json_.key("length").number(index_.length_ns());
    json_.key("spans").number(static_cast<std::int64_t>(trace_.spans().size()));
    json_.key("views").list(view_names(answers_), [&](std::string_view name) { json_.text(name); });
    processes();
    tracks();
    json_.key("curves").list(curves, [&](const Curve& one) { json_.object([&] { curve(one); }); });
    steps_and_classes();
    windows();
    instants();
    return json_.done();
  }

 private:
  void optional(std::string_view key, bool known, std::int64_t value) {
    if (known) json_.key(key).number(value);
  }

  void processes() {
    const ProcessTable& table = trace_.processes();
    json_.key("processes").list(rows(table.size()), [&](std::uint32_t row) {
      json_.object([&] {
        // An id that is no number, such as "Spans", is a name.
        const std::string_view foreign = trace_.string(table.foreign_id[row]);
        const std::string_view name = trace_.string(table.name[row]);
        json_.key("pid").number(foreign.empty() ? table.pid[row] : -1);
        json_.key("name").text(label_text(name.empty() ? unquoted(foreign) : name));
        json_.key("label").text(label_text(trace_.string(table.label[row])));
        json_.key("rank").number(table.rank[row]);
        json_.key("clock_error").number(table.clock_error_ns[row]);
        json_.key("sort").number(table.sort_index[row]);
      });
    });
  }

  void tracks() {
    json_.key("tracks").list(rows(index_.tracks()), [&](std::uint32_t track) {
      json_.object([&] {
        json_.key("rows").number(index_.rows(track));
        json_.key("spans").number(spans_of_track_.empty()
                                      ? static_cast<std::int64_t>(index_.spans_of(track).size())
                                      : spans_of_track_[track]);
        if (track >= trace_.tracks().size()) return;
        const TrackTable& table = trace_.tracks();
        json_.key("kind").text(to_string(table.kind[track]));
        json_.key("name").text(label_text(trace_.string(table.name[track])));
        json_.key("id").number(table.id[track]);
        const ProcessId process = table.process[track];
        json_.key("process").number(process.valid() ? process.value() : -1);
        json_.key("device").number(table.device_index[track]);
        json_.key("sort").number(table.sort_index[track]);
      });
    });
  }

  void curve(const Curve& one) {
    json_.key("kind").text(curve_kind_text(one.kind));
    json_.key("name").text(one.name);
    json_.key("unit").text(one.unit);
    json_.key("process").number(one.process.valid() ? one.process.value() : -1);
    json_.key("device").number(one.device);
    json_.key("series").list(one.series, [&](const std::string& name) { json_.text(name); });
  }

  void steps_and_classes() {
    std::vector<SpanId> steps;
    std::array<bool, static_cast<std::size_t>(SpanClass::Foreign) + 1> seen{};
    for (const SpanId span : trace_.all_spans()) {
      const SpanKind kind = trace_.spans().kind[span];
      seen[static_cast<std::size_t>(span_class(kind))] = true;
      if (kind == SpanKind::Step && steps.size() < kMostSteps) steps.push_back(span);
    }
    std::vector<std::size_t> classes;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i]) classes.push_back(i);
    json_.key("classes").list(classes,
                              [&](std::size_t of) { json_.number(static_cast<std::int64_t>(of)); });
    json_.key("steps").list(steps, [&](SpanId span) {
      const TrackId track = trace_.spans().track[span];
      const ProcessId process = track.valid() ? trace_.tracks().process[track] : ProcessId();
      json_.list(std::array{index_.times().begin(span.value()), index_.times().end(span.value()),
                            trace_.spans().step[span], static_cast<Nanos>(span.value()),
                            process.valid() ? static_cast<Nanos>(process.value()) : Nanos{-1}},
                 [&](Nanos value) { json_.number(value); });
    });
  }

  void windows() {
    const WindowTable& table = trace_.windows();
    json_.key("windows").list(rows(std::min(table.size(), kMostSteps)), [&](std::uint32_t row) {
      const ProcessId process = table.process[row];
      json_.list(
          std::array{table.start_ns[row] - trace_.first_ns(), table.end_ns[row] - trace_.first_ns(),
                     process.valid() ? static_cast<Nanos>(process.value()) : Nanos{-1}},
          [&](Nanos value) { json_.number(value); });
    });
  }

  void instants() {
    const InstantTable& table = trace_.instants();
    json_.key("instants_in_all").number(static_cast<std::int64_t>(table.size()));
    json_.key("instants").list(rows(std::min(table.size(), kMostInstants)), [&](std::uint32_t row) {
      json_.object([&] {
        json_.key("at").number(table.time_ns[row] - trace_.first_ns());
        json_.key("track").number(table.track[row].valid() ? table.track[row].value()
                                                           : index_.tracks() - 1);
        json_.key("name").text(label_text(trace_.string(table.name[row])));
      });
    });
  }

  static std::vector<std::uint32_t> rows(std::size_t count) {
    std::vector<std::uint32_t> out(count);
    for (std::uint32_t i = 0; i < count; ++i) out[i] = i;
    return out;
  }

  const TraceAnswers& answers_;
  const Trace& trace_;
  const TimelineIndex& index_;
  const std::span<const std::uint32_t> spans_of_track_;
  PageJson json_;
};

}  // namespace

std::string trace_json(const TraceAnswers& answers, const std::vector<Curve>& curves,
                       std::span<const std::uint32_t> spans_of_track) {
  return TraceJson(answers, spans_of_track).make(curves);
}

std::string label_text(std::string_view name) {
  std::string out = readable_line(first_whole(name, kLongestLabel));
  if (name.size() > kLongestLabel) out += "…";
  return out;
}

}  // namespace sonde::detail
