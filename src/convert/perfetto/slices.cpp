// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/perfetto/slices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json_string.h"
#include "convert/json/json_number.h"
#include "convert/perfetto/text.h"

namespace sonde::detail {

namespace {

// The most lines that are tried for spans that overlap freely.
constexpr std::size_t kMaxAsyncLines = 256;

// The table that a text's key belongs to.
enum class TextOf : std::uint64_t { String, JsonString, Kind, Arguments, Stack, Launch };
std::uint64_t text_key(TextOf table, std::uint64_t number) {
  return static_cast<std::uint64_t>(table) << 56 | number;
}
std::uint64_t hash_of(std::string_view text) {
  return std::hash<std::string_view>()(text) >> 8;
}

}  // namespace

PerfettoPlan::PerfettoPlan(const Trace& source, const ClockShift& shift, const PerfettoPlace& of)
    : trace(source),
      place(of),
      clock(shift),
      shift_ns(source.first_ns() < 0 ? -source.first_ns() : 0),
      lanes(source),
      derived_flows(source.flows().empty() ? launch_flows(source) : FlowTable()),
      flows(source.flows().empty() ? derived_flows : source.flows()),
      kernels(source.kernels().span),
      copies(source.copies().span),
      collectives(source.collectives().span),
      flows_from(flows.from_span),
      flows_to(flows.to_span),
      points(source, flows),
      extras(source.extras(), TableKind::Spans),
      instant_extras(source.extras(), TableKind::Instants) {}

struct PerfettoSlices::Cursors {
  Cursors(const PerfettoPlan& plan, SpanId first)
      : kernels(plan.kernels, first),
        copies(plan.copies, first),
        collectives(plan.collectives, first),
        flows_from(plan.flows_from, first),
        flows_to(plan.flows_to, first),
        extras(plan.extras, first.value()) {}
  SpanJoin::Cursor kernels;
  SpanJoin::Cursor copies;
  SpanJoin::Cursor collectives;
  SpanJoin::Cursor flows_from;
  SpanJoin::Cursor flows_to;
  ExtraJoin::Cursor extras;
};

PerfettoSlices::PerfettoSlices(const PerfettoPlan& plan, PerfettoTracks& tracks, std::string& out,
                               std::uint32_t& last_sequence)
    : plan_(plan),
      spans_(plan.trace.spans()),
      tracks_(tracks),
      out_(out),
      last_sequence_(last_sequence) {}

void PerfettoSlices::write(std::size_t track, const std::function<bool()>& flush) {
  track_ = track < plan_.trace.tracks().size() ? TrackId(track) : TrackId();
  lines_.clear();
  async_lines_.clear();
  const IdRange<SpanId> range = plan_.trace.track_spans(track_);
  Cursors cursors(plan_, range.empty() ? SpanId(0) : range[0]);
  std::span<const Point> points = plan_.points.of(track);
  const auto instants_before = [&](Nanos limit) {
    for (; !points.empty() && points.front().time_ns < limit; points = points.subspan(1)) {
      if (points.front().kind == PointKind::Instant) instant(InstantId(points.front().row));
    }
  };
  for (const SpanId span : range) {
    instants_before(spans_.start_ns[span]);
    begin(is_async(spans_, span.index()) ? async_line(span) : line(plan_.lanes.lane(span)), span,
          cursors);
    if (!flush()) return;
  }
  instants_before(std::numeric_limits<Nanos>::max());
  for (auto* lines : {&lines_, &async_lines_}) {
    for (const auto& line : *lines) {
      if (line) end_until(*line, std::numeric_limits<Nanos>::max());
    }
  }
}

std::unique_ptr<PerfettoSlices::Line> PerfettoSlices::new_line(std::uint64_t uuid) {
  const Nanos first = plan_.at(plan_.trace.first_ns());
  return std::unique_ptr<Line>(new Line{PerfettoSequence(out_, ++last_sequence_, uuid, first), {}});
}

PerfettoSlices::Line& PerfettoSlices::line(std::uint32_t lane) {
  if (lane >= lines_.size()) lines_.resize(lane + 1);
  if (!lines_[lane]) lines_[lane] = new_line(tracks_.line(track_, lane));
  return *lines_[lane];
}

// The first line that is free.
PerfettoSlices::Line& PerfettoSlices::async_line(SpanId span) {
  for (const auto& line : async_lines_) {
    end_until(*line, spans_.start_ns[span]);
    if (line->open_ends.empty()) return *line;
  }
  if (async_lines_.size() < kMaxAsyncLines) {
    const auto lane = static_cast<std::uint32_t>(async_lines_.size());
    async_lines_.push_back(new_line(tracks_.async_line(track_, lane)));
  }
  return *async_lines_.back();
}

void PerfettoSlices::end_until(Line& line, Nanos time_ns) {
  while (!line.open_ends.empty() && line.open_ends.back() <= time_ns) {
    EventBuilder event(line.sequence, EventType::SliceEnd);
    event.write(plan_.at(line.open_ends.back()));
    line.open_ends.pop_back();
  }
}

void PerfettoSlices::begin(Line& line, SpanId span, Cursors& cursors) {
  const Nanos start = spans_.start_ns[span];
  end_until(line, start);
  EventBuilder event(line.sequence, EventType::SliceBegin);
  const StringId name = spans_.name[span];
  event.name(text_key(TextOf::String, name.value()), [&] { return utf8(name); });
  const StringId category = spans_.category[span];
  if (category.valid()) {
    add_category(event, category);
  } else {
    const SpanKind kind = spans_.kind[span];
    event.category(text_key(TextOf::Kind, static_cast<std::uint64_t>(kind)),
                   [&] { return std::string(kineto_category(kind)); });
  }
  annotate(event, span, cursors);
  add_flows(event, span, cursors);
  event.write(plan_.at(start));
  line.open_ends.push_back(plan_.trace.end_ns(span));
}

// Adds only flows that have both ends. Each has its own number.
void PerfettoSlices::add_flows(EventBuilder& event, SpanId span, Cursors& cursors) {
  while (cursors.flows_from.has(span)) {
    const std::uint32_t row = cursors.flows_from.take();
    if (plan_.flows.to_span[row].valid()) event.flow(plan_.place.last_flow + row + 1, false);
  }
  while (cursors.flows_to.has(span)) {
    const std::uint32_t row = cursors.flows_to.take();
    if (plan_.flows.from_span[row].valid()) event.flow(plan_.place.last_flow + row + 1, true);
  }
}

void PerfettoSlices::annotate_string(EventBuilder& event, std::string_view key, StringId text) {
  if (!text.valid()) return;
  event.annotate_text(key, text_key(TextOf::String, text.value()), [&] { return utf8(text); });
}

void PerfettoSlices::annotate(EventBuilder& event, SpanId span, Cursors& cursors) {
  event.annotate_unless("correlation", spans_.correlation[span], 0);
  event.annotate_unless("Sequence number", spans_.sequence_number[span], -1);
  if (const ArgumentListId list = spans_.arguments[span]; list.valid()) {
    event.annotate_text("arguments", text_key(TextOf::Arguments, list.value()),
                        [&] { return valid_utf8(arguments_text(plan_.trace, list)); });
  }
  if (const StackId stack = spans_.stack[span]; stack.valid()) {
    event.annotate_text("Call stack", text_key(TextOf::Stack, stack.value()),
                        [&] { return valid_utf8(stack_text(plan_.trace, stack)); });
  }
  if (cursors.kernels.has(span)) {
    annotate_kernel(event, KernelId(cursors.kernels.take_one(span)));
  }
  if (cursors.copies.has(span)) {
    const CopyId copy(cursors.copies.take_one(span));
    event.annotate_unless("bytes", plan_.trace.copies().bytes[copy], -1);
    const double bandwidth = plan_.trace.copies().bandwidth[copy];
    if (bandwidth >= 0) event.annotate("memory bandwidth (GB/s)", bandwidth);
  }
  if (cursors.collectives.has(span)) {
    annotate_collective(event, CollectiveId(cursors.collectives.take_one(span)));
  }
  if ((spans_.flags[span] & SpanFlags::kUnfinished) != 0) event.annotate("finished", false);
  annotate_string(event, "File", spans_.source_file[span]);
  event.annotate_unless("Line", spans_.source_line[span], -1);
  while (cursors.extras.has(span.value())) annotate_extra(event, cursors.extras.take());
}

void PerfettoSlices::add_category(EventBuilder& event, StringId category) {
  event.category(text_key(TextOf::String, category.value()), [&] { return utf8(category); });
}

// Numbers, truth values and strings keep their type; lists and objects become JSON text.
void PerfettoSlices::annotate_extra(EventBuilder& event, ExtraId extra) {
  const StringId key = plan_.trace.extras().key[extra];
  const StringId value = plan_.trace.extras().value[extra];
  const std::string_view json = plan_.trace.string(value);
  const std::uint64_t name = text_key(TextOf::String, key.value());
  const auto key_text = [&] { return utf8(key); };
  if (json == "true" || json == "false") {
    event.annotate(name, key_text, json == "true");
  } else if (const auto integer = to_integer(json)) {
    event.annotate(name, key_text, *integer);
  } else if (const auto large = to_unsigned(json)) {
    event.annotate(name, key_text, *large);
  } else if (const auto number = to_double(json)) {
    event.annotate(name, key_text, *number);
  } else if (json.size() >= 2 && json.front() == '"') {
    event.annotate_text(name, key_text, text_key(TextOf::JsonString, value.value()), [&] {
      return valid_utf8(decode_json_string(json.substr(1, json.size() - 2)));
    });
  } else {
    event.annotate_text(name, key_text, text_key(TextOf::String, value.value()),
                        [&] { return utf8(value); });
  }
}

void PerfettoSlices::annotate_kernel(EventBuilder& event, KernelId kernel) {
  const KernelTable& table = plan_.trace.kernels();
  if (table.grid_x[kernel] != 0) {
    const std::string grid =
        triple_text(table.grid_x[kernel], table.grid_y[kernel], table.grid_z[kernel]);
    const std::string block =
        triple_text(table.block_x[kernel], table.block_y[kernel], table.block_z[kernel]);
    event.annotate_text("grid", text_key(TextOf::Launch, hash_of(grid)),
                        [&] { return std::string_view(grid); });
    event.annotate_text("block", text_key(TextOf::Launch, hash_of(block)),
                        [&] { return std::string_view(block); });
  }
  event.annotate_unless("registers per thread", table.registers_per_thread[kernel], -1);
  event.annotate_unless("shared memory", table.shared_bytes[kernel], -1);
  const double occupancy = table.occupancy_percent[kernel];
  if (occupancy >= 0) {
    event.annotate("est. achieved occupancy %", std::int64_t{std::llround(occupancy)});
  }
}

void PerfettoSlices::annotate_collective(EventBuilder& event, CollectiveId collective) {
  const CollectiveTable& table = plan_.trace.collectives();
  annotate_string(event, "Collective name", table.name[collective]);
  annotate_string(event, "dtype", table.dtype[collective]);
  event.annotate_unless("In msg nelems", table.in_elements[collective], -1);
  event.annotate_unless("Out msg nelems", table.out_elements[collective], -1);
  event.annotate_unless("Group size", table.group_size[collective], -1);
  event.annotate_unless("Seq", table.sequence_number[collective], -1);
}

void PerfettoSlices::instant(InstantId row) {
  const InstantTable& table = plan_.trace.instants();
  Line& own = line(0);
  end_until(own, table.time_ns[row] - 1);
  EventBuilder event(own.sequence, EventType::Instant);
  const StringId name = table.name[row];
  event.name(text_key(TextOf::String, name.value()), [&] { return utf8(name); });
  if (table.category[row].valid()) add_category(event, table.category[row]);
  annotate_string(event, "File", table.source_file[row]);
  event.annotate_unless("Line", table.source_line[row], -1);
  plan_.instant_extras.find(row.value(), extras_);
  for (const ExtraId extra : extras_) annotate_extra(event, extra);
  event.write(plan_.at(table.time_ns[row]));
}

}  // namespace sonde::detail
