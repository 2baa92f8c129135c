// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/event_writer.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "trace/known_names.h"

namespace sonde {

namespace {

// Text is passed on once there is this much.
constexpr std::size_t kFlushBytes = std::size_t{4} << 20;

std::string_view scope_letter(InstantScope scope) {
  switch (scope) {
    case InstantScope::Process:
      return "p";
    case InstantScope::Global:
      return "g";
    default:
      return "t";
  }
}

}  // namespace

KinetoEvents::Cursors::Cursors(const KinetoPlan& plan, SpanId first)
    : kernels(plan.kernels, first),
      copies(plan.copies, first),
      api_calls(plan.api_calls, first),
      syncs(plan.syncs, first),
      collectives(plan.collectives, first),
      python_calls(plan.python_calls, first),
      flows_from(plan.flows_from, first),
      flows_to(plan.flows_to, first),
      extras(plan.span_extras, first.value()) {}

KinetoEvents::KinetoEvents(const KinetoPlan& plan) : plan_(plan), spans_(plan.trace.spans()) {
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const auto kind = static_cast<SpanKind>(i);
    if (!is_known(kind)) continue;
    heads_[i] = ",\n  {\n    \"ph\": \"X\", \"cat\": \"" + std::string(kineto_category(kind)) +
                "\", \"name\": \"";
  }
}

char* KinetoEvents::text(char* at, std::string_view value) {
  out_.advance(at);
  return put(out_.room(value.size() + kEventRoom), value);
}

void KinetoEvents::render(const EventBlock& block, const TextSink& sink) {
  track_ = block.track;
  Cursors cursors(plan_, block.first);
  std::span<const Point> points = block.points;
  bool going = true;
  const auto flush_when_full = [&] {
    if (out_.size() < kFlushBytes) return;
    going = sink(out_.text());
    out_.clear();
  };
  const auto points_up_to = [&](Nanos limit) {
    while (going && !points.empty() && points.front().time_ns < limit) {
      points = points.subspan(event_at(points));
      flush_when_full();
    }
  };
  for (std::uint32_t row = block.first.value(); going && row < block.last.value(); ++row) {
    if (!points.empty()) points_up_to(spans_.start_ns[row]);
    span(SpanId(row), cursors);
    flush_when_full();
  }
  while (going && !points.empty()) {
    points = points.subspan(event_at(points));
    flush_when_full();
  }
  if (going && !out_.empty()) sink(out_.text());
  out_.clear();
}

std::string KinetoEvents::arguments(SpanId span) {
  Cursors cursors(plan_, span);
  extras_.clear();
  while (cursors.extras.has(span.value())) extras_.push_back(cursors.extras.take());
  out_.clear();
  out_.advance(close_args(span_args(open_args(out_.room(kEventRoom)), span, cursors)));
  const std::string_view text = out_.text();
  const std::size_t begin = text.find('{');
  std::string object = begin == std::string_view::npos ? "" : std::string(text.substr(begin));
  out_.clear();
  return object;
}

char* KinetoEvents::open_args(char* at) {
  at = put(at, ",\n    \"args\": {\n      ");
  args_begin_ = out_.offset(at) - 2;
  return at - 2;  // the first comma overwrites the last two spaces
}

char* KinetoEvents::close_args(char* at) {
  char* const begin = out_.at(args_begin_);
  if (at == begin) return at - (sizeof(",\n    \"args\": {\n    ") - 1);
  put(begin, "  ");
  return put(at, "\n    }");
}

// The category of an annotation is an argument, because tools recognise annotations by `cat`.
bool KinetoEvents::has_foreign_category(SpanId span) const {
  return spans_.category[span].valid() && !is_annotation(spans_.kind[span]);
}

char* KinetoEvents::category(char* at, SpanId span) {
  const SpanKind kind = spans_.kind[span];
  if (has_foreign_category(span)) {
    at = put(string(put(at, ", \"cat\": \""), spans_.category[span]), "\"");
  } else if (kind != SpanKind::Other) {
    at = put(put(put(at, ", \"cat\": \""), kineto_category(kind)), "\"");
  }
  return at;
}

char* KinetoEvents::span_head(char* at, SpanId span) {
  if (has_foreign_category(span) || spans_.kind[span] == SpanKind::Other) {
    at = put(at, ",\n  {\n    \"ph\": \"X\"");
    return put(category(at, span), ", \"name\": \"");
  }
  return put(at, heads_[static_cast<std::size_t>(spans_.kind[span])]);
}

char* KinetoEvents::async_head(char* at, SpanId span, char phase) {
  const auto found =
      std::lower_bound(plan_.async_spans.begin(), plan_.async_spans.end(), span.value());
  at = put(at, ",\n  {\n    \"ph\": \"");
  *at++ = phase;
  at = put_integer(put(at, "\", \"id\": "), found - plan_.async_spans.begin() + 1);
  return put(category(at, span), ", \"name\": \"");
}

void KinetoEvents::span(SpanId span, Cursors& cursors) {
  extras_.clear();
  while (cursors.extras.has(span.value())) extras_.push_back(cursors.extras.take());
  const bool is_pair = is_async(spans_, span.index());
  char* at = out_.room(kEventRoom);
  at = is_pair ? async_head(at, span, 'b') : span_head(at, span);
  if (spans_.name[span].valid() || spans_.step[span] < 0) {
    at = string(at, spans_.name[span]);
    if (plan_.has_overloads_in_names) at = overload(at, span);
  } else {
    at = put_integer(put(at, kStepPrefix), spans_.step[span]);
  }
  at = text(put(at, "\", "), plan_.identity.line(track_, plan_.lanes.lane(span)).both);
  const Nanos wider = widening_ns(spans_.kind[span]);
  at = time(put(at, ",\n    \"ts\": "), spans_.start_ns[span] - wider);
  if (!is_pair) at = put_micros(put(at, ", \"dur\": "), spans_.duration_ns[span] + 2 * wider);
  if (!extras_.empty()) at = event_extras(at);
  at = close_args(span_args(open_args(at), span, cursors));
  out_.advance(put(at, "\n  }"));
  span_flows(span, cursors);
}

// ".Tensor" after "aten::add", unless the name has it already.
char* KinetoEvents::overload(char* at, SpanId span) {
  const StringId overload = spans_.overload_name[span];
  if (!overload.valid()) return at;
  const std::string_view given = plan_.trace.string(overload);
  const std::string_view name = plan_.trace.name(span);
  const bool is_there = name.ends_with(given) && name.size() > given.size() &&
                        name[name.size() - given.size() - 1] == '.';
  return given.empty() || is_there ? at : string(put(at, "."), overload);
}

char* KinetoEvents::event_extras(char* at) {
  for (const ExtraId extra : extras_) {
    const StringId key = plan_.trace.extras().key[extra];
    if (!is_event_key(plan_.trace.string(key))) continue;
    const std::string_view escaped = plan_.strings.escaped(key, scratch_);
    at = put(text(put(at, ", \""), escaped.substr(kEventPrefix.size())), "\": ");
    at = text(at, plan_.strings.value(plan_.trace.extras().value[extra], scratch_));
  }
  return at;
}

char* KinetoEvents::arg_extras(char* at) {
  for (std::size_t i = 0; i < extras_.size(); ++i) {
    const StringId key = plan_.trace.extras().key[extras_[i]];
    if (is_event_key(plan_.trace.string(key))) continue;
    at = may_stand_already(i) ? unique_key(at, key) : put(string(put(at, ", \""), key), "\": ");
    at = text(at, plan_.strings.value(plan_.trace.extras().value[extras_[i]], scratch_));
  }
  return at;
}

// A program may call an argument by any name, also by that of a column, or two of them the same.
bool KinetoEvents::may_stand_already(std::size_t extra) {
  constexpr std::size_t kMostLooks = 64;
  const auto& keys = plan_.trace.extras().key;
  const StringId key = keys[extras_[extra]];
  for (std::size_t i = extra - std::min(extra, kMostLooks); i < extra; ++i) {
    if (keys[extras_[i]] == key) return true;
  }
  const auto [known, is_new] = names_column_.try_emplace(key.value(), false);
  if (is_new) {
    known->second = std::any_of(kArgKeyTexts.begin(), kArgKeyTexts.end(), [&](const auto& text) {
      return text.text == plan_.trace.string(key);
    });
  }
  return known->second;
}

// "File (argument)" where "File" stands already.
char* KinetoEvents::unique_key(char* at, StringId key) {
  const std::string begin = ", \"" + std::string(plan_.strings.escaped(key, scratch_));
  std::string whole = begin + "\": ";
  for (int number = 1;; ++number) {
    const char* const args = out_.at(args_begin_);
    const std::string_view written(args, static_cast<std::size_t>(at - args));
    if (written.find(whole) == std::string_view::npos) return text(at, whole);
    whole = begin + (number == 1 ? " (argument)" : " (argument " + std::to_string(number) + ")") +
            "\": ";
  }
}

ExtraId KinetoEvents::take_extra(std::string_view key) {
  const auto found = std::find_if(extras_.begin(), extras_.end(), [&](ExtraId extra) {
    return plan_.trace.string(plan_.trace.extras().key[extra]) == key;
  });
  if (found == extras_.end()) return {};
  const ExtraId extra = *found;
  extras_.erase(found);
  return extra;
}

std::size_t KinetoEvents::event_at(std::span<const Point> points) {
  const Point& point = points.front();
  switch (point.kind) {
    case PointKind::Allocation:
      allocation(AllocationId(point.row));
      return 1;
    case PointKind::Instant:
      instant(InstantId(point.row));
      return 1;
    case PointKind::Counter:
      return counters(points);
    case PointKind::FlowStart:
      flow(FlowId(point.row), 's', line(), point.time_ns);
      return 1;
    case PointKind::FlowEnd:
      flow(FlowId(point.row), 'f', line(), point.time_ns);
      return 1;
    case PointKind::AsyncEnd:
      async_end(SpanId(point.row));
      return 1;
  }
  return 1;
}

void KinetoEvents::allocation(AllocationId row) {
  const AllocationTable& table = plan_.trace.allocations();
  plan_.allocation_extras.find(row.value(), extras_);
  const bool is_failed = (table.flags[row] & AllocationFlags::kOutOfMemory) != 0;
  char* at = out_.room(kEventRoom);
  at = put(at,
           ",\n  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": ");
  at = is_failed ? put(at, "\"[OutOfMemory]\"") : put(at, "\"[memory]\"");
  at = text(put(at, ",\n    "), line());
  at = time(put(at, ",\n    \"ts\": "), table.time_ns[row]);
  at = event_extras(at);
  at = open_args(at);
  at = column<ArgKey::TotalReserved>(at, table.total_reserved_bytes, row);
  at = column<ArgKey::TotalAllocated>(at, table.total_allocated_bytes, row);
  at = integer<ArgKey::AllocatedBytes>(at, table.bytes[row]);
  at = integer<ArgKey::DeviceNumber>(at, table.device_index[row]);
  at = integer<ArgKey::DeviceTypeNumber>(at, static_cast<std::int64_t>(table.device_type[row]));
  at = column<ArgKey::MemoryKind>(at, table.memory_kind, row);
  at = column<ArgKey::Addr>(at, table.address, row);
  at = put(put_key<ArgKey::Finished>(at), "false");
  at = column<ArgKey::EvIdx>(at, table.event_index, row);
  at = shared(at, plan_.stacks, table.stack[row], append_stack);
  at = close_args(arg_extras(at));
  out_.advance(put(at, "\n  }"));
}

void KinetoEvents::instant(InstantId row) {
  const InstantTable& table = plan_.trace.instants();
  plan_.instant_extras.find(row.value(), extras_);
  char* at = out_.room(kEventRoom);
  const ExtraId phase = take_extra("event.ph");
  at = put(at, ",\n  {\n    \"ph\": ");
  at = phase.valid() ? text(at, plan_.strings.value(plan_.trace.extras().value[phase], scratch_))
                     : put(at, "\"i\"");
  if (table.category[row].valid()) at = value(put(at, ", \"cat\": "), table.category[row]);
  at = put(put(put(at, ", \"s\": \""), scope_letter(table.scope[row])), "\", \"name\": \"");
  at = text(put(string(at, table.name[row]), "\",\n    "), line());
  at = time(put(at, ",\n    \"ts\": "), table.time_ns[row]);
  at = event_extras(at);
  at = open_args(at);
  at = column<ArgKey::File>(at, table.source_file, row);
  at = column<ArgKey::Line>(at, table.source_line, row);
  at = close_args(arg_extras(at));
  out_.advance(put(at, "\n  }"));
}

bool KinetoEvents::share_event(CounterId a, CounterId b) const {
  const CounterTable& table = plan_.trace.counters();
  return table.name[a] == table.name[b] && table.time_ns[a] == table.time_ns[b] &&
         table.category[a] == table.category[b] && table.series[a] != table.series[b];
}

// The series of one counter at one time share an event, but no key may occur twice in it.
std::size_t KinetoEvents::counters(std::span<const Point> points) {
  const CounterTable& table = plan_.trace.counters();
  const CounterId first(points.front().row);
  plan_.counter_extras.find(first.value(), extras_);
  char* at = out_.room(kEventRoom);
  at = put(at, ",\n  {\n    \"ph\": \"C\"");
  if (table.category[first].valid()) at = value(put(at, ", \"cat\": "), table.category[first]);
  at = put(string(put(at, ", \"name\": \""), table.name[first]), "\", ");
  at = time(put(text(at, line()), ",\n    \"ts\": "), points.front().time_ns);
  at = event_extras(at);
  at = open_args(at);
  std::size_t count = 0;
  std::vector<StringId> keys;
  for (; count < points.size() && points[count].kind == PointKind::Counter; ++count) {
    const CounterId row(points[count].row);
    if (count > 0 && !share_event(first, row)) break;
    const StringId key = table.series[row].valid() ? table.series[row] : table.name[row];
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) break;
    keys.push_back(key);
    at = put(string(put(at, ", \""), key), "\": ");
    at = put_double(at, table.value[row]);
  }
  at = close_args(arg_extras(at));
  out_.advance(put(at, "\n  }"));
  return count;
}

void KinetoEvents::async_end(SpanId span) {
  char* at = async_head(out_.room(kEventRoom), span, 'e');
  at = put(string(at, spans_.name[span]), "\", ");
  at = text(at, plan_.identity.line(track_, 0).both);
  at = time(put(at, ",\n    \"ts\": "), plan_.trace.end_ns(span));
  out_.advance(put(at, "\n  }"));
}

}  // namespace sonde
