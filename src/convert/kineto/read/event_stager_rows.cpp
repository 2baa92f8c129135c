// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spans and the rows of other tables that belong to them. A value that does not fit its column is
// kept among the extras.

#include <limits>

#include "convert/json/json_number.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/event_stager.h"

namespace sonde {

namespace {

// Each of these marks a span as a collective. The other keys of the table are too common as names.
constexpr ArgKeySet kCollectiveSigns(ArgKey::CollectiveName, ArgKey::InMsgNelems,
                                     ArgKey::OutMsgNelems, ArgKey::GroupSize,
                                     ArgKey::ProcessGroupName, ArgKey::CommsId);
constexpr ArgKeySet kSourceKeys(ArgKey::OverloadName, ArgKey::File, ArgKey::Line, ArgKey::Function);
// Other spans have a context too, so that key proves nothing.
constexpr ArgKeySet kApiCallSigns(ArgKey::Cbid, ArgKey::ReturnValue);
constexpr ArgKeySet kApiCallKeys = column_keys<ApiCallRow>();
constexpr ArgKeySet kPythonKeys = column_keys<PythonCallRow>();
constexpr ArgKeySet kKernelKeys = [] {
  ArgKeySet keys = column_keys<KernelRow>();
  keys.add(ArgKey::Device);
  keys.add(ArgKey::Stream);
  return keys;
}();

// Sonde does not write null values. One under a key of Sonde's comes from another program and is
// kept.
bool is_foreign_null(ArgKey key, bool is_null) {
  return is_null && kOwnKeys.has(key);
}

// The process under which PyTorch's profiler before Kineto, and RecordProfile in C++, put all
// operators.
bool is_legacy_host(std::string_view pid) {
  return pid == "\"CPU functions\"" || pid == "\"CPU Functions\"";
}

}  // namespace

bool EventStager::take(ArgKey key, std::int64_t& out) {
  if (!left_.has(key) || !event_[key].is_integer) return false;
  const std::int64_t number = event_[key].number;
  if (is_foreign_null(key, number == out)) return false;
  out = number;
  left_.remove(key);
  return true;
}

bool EventStager::take(ArgKey key, std::int32_t& out) {
  if (!left_.has(key) || !event_[key].is_integer) return false;
  const std::int64_t number = event_[key].number;
  if (number != static_cast<std::int32_t>(number)) return false;
  if (is_foreign_null(key, number == out)) return false;
  out = static_cast<std::int32_t>(number);
  left_.remove(key);
  return true;
}

bool EventStager::take(ArgKey key, double& out) {
  if (!left_.has(key)) return false;
  const std::optional<double> number = to_double(event_[key].text());
  if (!number) return false;
  out = *number;
  left_.remove(key);
  return true;
}

bool EventStager::take(ArgKey key, std::uint64_t& out) {
  if (!left_.has(key)) return false;
  const std::optional<std::uint64_t> number = to_unsigned(event_[key].text());
  if (!number) return false;
  out = *number;
  left_.remove(key);
  return true;
}

// A boolean.
bool EventStager::take(ArgKey key, std::int8_t& out) {
  if (!left_.has(key) || !event_[key].is_integer || (event_[key].number | 1) != 1) return false;
  out = static_cast<std::int8_t>(event_[key].number);
  left_.remove(key);
  return true;
}

bool EventStager::take(ArgKey key, StringId& out) {
  const RawId id = take_raw(key, staged_->texts);
  if (id == kNoRaw) return false;
  out = StringId(id);
  return true;
}

bool EventStager::take(ArgKey key, StackId& out) {
  const RawId id = take_raw(key, staged_->stacks);
  if (id == kNoRaw) return false;
  out = StackId(id);
  return true;
}

bool EventStager::take(ArgKey key, SyncKind& out) {
  return take_enum(key, out, parse_sync_kind);
}

bool EventStager::take(ArgKey key, MemoryKind& out) {
  return take_enum(key, out, parse_memory_kind);
}

bool EventStager::take(ArgKey key, DeviceType& out) {
  if (!left_.has(key) || !event_[key].is_integer) return false;
  const std::int64_t number = event_[key].number;
  const auto type = static_cast<DeviceType>(number);
  if (number < 0 || number >= 255 || !is_known(type)) return false;
  out = type;
  left_.remove(key);
  return true;
}

// Holds the number of the call until spans have ids.
bool EventStager::take(ArgKey key, SpanId& out) {
  if (!left_.has(key) || !event_[key].is_integer) return false;
  const std::int64_t number = event_[key].number;
  if (number <= 0 || number >= SpanId::kInvalid) return false;
  out = SpanId(static_cast<std::uint32_t>(number));
  left_.remove(key);
  return true;
}

template <typename Enum, typename Parse>
bool EventStager::take_enum(ArgKey key, Enum& out, const Parse& parse) {
  if (!left_.has(key) || !is_quoted(event_[key].text())) return false;
  const std::optional<Enum> value = parse(unquoted(event_[key].text()));
  if (!value || is_foreign_null(key, *value == out)) return false;
  out = *value;
  left_.remove(key);
  return true;
}

RawId EventStager::take_raw(ArgKey key, RawMemo& memo) {
  if (!left_.has(key) || !is_quoted(event_[key].text())) return kNoRaw;
  left_.remove(key);
  return memo.id_of(unquoted(event_[key].text()));
}

// Kineto writes a device and a stream as pid and tid, and again among the arguments.
void EventStager::drop_if(ArgKey key, std::string_view same) {
  if (left_.has(key) && event_[key].text() == same) left_.remove(key);
}

bool EventStager::take(ArgKey key, const Triple& out) {
  if (!left_.has(key)) return false;
  std::int32_t numbers[3] = {0, 0, 0};
  std::size_t count = 0;
  const bool whole = for_each_element(event_[key].text(), [&](std::string_view raw) {
    const std::optional<std::int64_t> number = to_integer(raw);
    if (!number || *number != static_cast<std::int32_t>(*number) || count == 3) return false;
    numbers[count++] = static_cast<std::int32_t>(*number);
    return true;
  });
  if (!whole || count != 3) return false;
  const auto values = std::tie(numbers[0], numbers[1], numbers[2]);
  if (is_foreign_null(key, values == out)) return false;
  std::tie(std::get<0>(out), std::get<1>(out), std::get<2>(out)) = values;
  left_.remove(key);
  return true;
}

// Takes all of the members or none.
bool EventStager::take(ArgKey key, const OccupancyColumns& out) {
  if (!left_.has(key)) return false;
  KernelRow filled = out.row;
  const auto take_member = [&](std::string_view member, std::string_view value) {
    bool is_taken = false;
    OccupancyColumns{filled}.visit([&](OccupancyKey part, auto& column) {
      if (text_of(part) == member) is_taken = take_part(value, column);
    });
    return is_taken;
  };
  if (!for_each_member(event_[key].text(), take_member)) return false;
  out.row = filled;
  left_.remove(key);
  return true;
}

bool EventStager::take_part(std::string_view raw, StringId& out) {
  if (!is_quoted(raw)) return false;
  out = StringId(staged_->texts.id_of(unquoted(raw)));
  return true;
}

void EventStager::stage_span() {
  if (!needs_time()) return;
  const Category& known = category();
  const auto row = static_cast<std::uint32_t>(staged_->spans.size());
  StagedSpan& span = staged_->spans.emplace_back();
  span.start = event_.time;
  span.name = event_.name;
  span.kind = known.kind;
  if (!event_.has_category && is_legacy_host(event_.pid)) span.kind = SpanKind::CpuOp;
  span.track = track(known.on_device);
  if (event_.phase == 'X') {
    span.duration = event_.duration;
    if (span.duration < 0) note_bad_duration(span);
    if (span.kind == SpanKind::GpuUserAnnotation && span.duration >= 2) {
      // Kineto widens these by a nanosecond at both ends, so that viewers nest what they cover.
      span.start += 1;
      span.duration -= 2;
    }
  } else {
    span.duration = StagedSpan::kOpen;
    if (event_.phase == 'b') span.flags |= SpanFlags::kAsync;
    StagedEdge edge;
    edge.time = span.start;
    edge.track = span.track;
    edge.name = span.name;
    edge.category = category_text();
    edge.id = event_.id.empty() ? kNoRaw : staged_->values.id_of(event_.id);
    edge.span = row;
    edge.event = event_text();
    edge.phase = event_.phase;
    if (event_.phase == 'b' && left_.has(ArgKey::EndThread)) {
      edge.end_thread = event_[ArgKey::EndThread].text();
      left_.remove(ArgKey::EndThread);
    }
    staged_->edges.push_back(edge);
  }
  fill_values(span, known);
  if (!left_.empty()) stage_side_rows(span.kind, row);
  stage_extras(TableKind::Spans, row);
  last_span_ = row;
  if (known.kind == SpanKind::TraceSpan && event_.phase == 'X') {
    staged_->window_parts.push_back({StagedWindowPart::Kind::Trace, row, staged_->events});
  }
}

void EventStager::note_bad_duration(StagedSpan& span) {
  span.duration = 0;
  Troubles& troubles = staged_->troubles;
  if (troubles.bad_durations++ == 0) {
    troubles.first_bad_duration = static_cast<std::uint64_t>(event_begin_ - text_);
  }
}

void EventStager::add_value(StagedSpan& span, SpanField field, std::int64_t value) {
  span.fields |= bit_of(field);
  staged_->span_values.push_back(value);
}

void EventStager::take_value(StagedSpan& span, SpanField field, ArgKey key) {
  std::int64_t value = 0;
  if (take(key, value)) add_value(span, field, value);
}

void EventStager::take_raw_value(StagedSpan& span, SpanField field, ArgKey key, RawMemo& memo) {
  const RawId id = take_raw(key, memo);
  if (id != kNoRaw) add_value(span, field, id);
}

void EventStager::fill_values(StagedSpan& span, const Category& known) {
  span.arguments = parser_.argument_list();
  if (span.arguments != kNoRaw) left_.remove_all(kArrays);
  span.first_value = static_cast<std::uint32_t>(staged_->span_values.size());
  if (known.is_foreign && event_.has_category) {
    add_value(span, SpanField::Category, category_text());
  } else if (is_annotation(span.kind)) {
    take_raw_value(span, SpanField::Category, ArgKey::Category, staged_->texts);
  }
  take_value(span, SpanField::ExternalId, ArgKey::ExternalId);
  take_value(span, SpanField::EventIndex, ArgKey::EvIdx);
  take_value(span, SpanField::RecordFunctionId, ArgKey::RecordFunctionId);
  take_value(span, SpanField::Correlation, ArgKey::Correlation);
  take_value(span, SpanField::SequenceNumber, ArgKey::SequenceNumber);
  take_value(span, SpanField::ForwardThread, ArgKey::FwdThreadId);
  take_raw_value(span, SpanField::Stack, ArgKey::CallStack, staged_->stacks);
  take_raw_value(span, SpanField::Module, ArgKey::ModuleHierarchy, staged_->modules);
  if (left_.has_any(kSourceKeys)) fill_source(span);
  if (left_.has(ArgKey::Finished)) {
    const std::string_view finished = event_[ArgKey::Finished].text();
    if (finished == "false" || finished == "\"false\"") {
      span.flags |= SpanFlags::kUnfinished;
      left_.remove(ArgKey::Finished);
    }
  }
}

void EventStager::fill_source(StagedSpan& span) {
  take_raw_value(span, SpanField::OverloadName, ArgKey::OverloadName, staged_->texts);
  take_raw_value(span, SpanField::SourceFile, ArgKey::File, staged_->texts);
  std::int32_t line = -1;
  if (take(ArgKey::Line, line)) add_value(span, SpanField::SourceLine, line);
  take_raw_value(span, SpanField::SourceFunction, ArgKey::Function, staged_->texts);
}

void EventStager::stage_side_rows(SpanKind kind, std::uint32_t row) {
  if (left_.has_any(kPythonKeys)) stage_python_call(row);
  if (left_.has_any(is_call(kind) ? kApiCallKeys : kApiCallSigns)) stage_api_call(row);
  switch (kind) {
    case SpanKind::Kernel:
      if (left_.has_any(kKernelKeys)) stage_kernel(row);
      break;
    case SpanKind::GpuMemcpy:
    case SpanKind::GpuMemset:
      stage_copy(row);
      break;
    case SpanKind::CudaSync:
    case SpanKind::CudaEvent:
      stage_sync(row);
      break;
    default:
      break;
  }
  if (left_.has_any(kCollectiveSigns)) stage_collective(row);
}

void EventStager::stage_api_call(std::uint32_t row) {
  auto call = row_of_args<ApiCallRow>();
  call.span = SpanId(row);
  staged_->api_calls.push_back(call);
}

void EventStager::stage_kernel(std::uint32_t row) {
  auto kernel = row_of_args<KernelRow>();
  kernel.span = SpanId(row);
  drop_if(ArgKey::Device, event_.pid);
  drop_if(ArgKey::Stream, event_.tid);
  staged_->kernels.push_back(kernel);
}

void EventStager::stage_copy(std::uint32_t row) {
  auto copy = row_of_args<CopyRow>();
  copy.span = SpanId(row);
  drop_if(ArgKey::Device, event_.pid);
  drop_if(ArgKey::InDevice, event_.pid);
  drop_if(ArgKey::Stream, event_.tid);
  staged_->copies.push_back(copy);
}

void EventStager::stage_sync(std::uint32_t row) {
  const bool says_kind =
      left_.has(ArgKey::CudaSyncKind) && is_quoted(event_[ArgKey::CudaSyncKind].text());
  auto sync = row_of_args<SyncRow>();
  sync.span = SpanId(row);
  if (!says_kind && event_.name_text == to_string(SyncKind::EventRecord)) {
    sync.kind = SyncKind::EventRecord;
  }
  drop_if(ArgKey::Device, event_.pid);
  staged_->syncs.push_back(sync);
}

void EventStager::stage_collective(std::uint32_t row) {
  auto collective = row_of_args<CollectiveRow>();
  collective.span = SpanId(row);
  staged_->collectives.push_back(collective);
}

void EventStager::stage_python_call(std::uint32_t row) {
  drop_if(ArgKey::PythonParentId, "null");
  auto call = row_of_args<PythonCallRow>();
  call.span = SpanId(row);
  staged_->python_calls.push_back(call);
}

// Keeps everything that no column took.
void EventStager::stage_extras(TableKind table, std::uint32_t row) {
  const bool is_flow = event_.phase == 's' || event_.phase == 't' || event_.phase == 'f';
  const bool is_async = event_.phase == 'b' || event_.phase == 'e';
  if (left_.empty() && event_.unknown_args.empty() && event_.unknown_keys.empty() &&
      event_.id.empty() && event_.scope.empty() && event_.binding_point.empty()) {
    return;
  }
  const auto add = [&](bool of_event, std::string_view key, std::string_view value) {
    staged_->extras.push_back(
        {table, of_event, row, staged_->texts.id_of(key), staged_->values.id_of(value)});
  };
  left_.for_each(
      [&](ArgKey key) { add(false, {event_[key].key, text_of(key).size()}, event_[key].text()); });
  for (const RawMember& member : event_.unknown_args) add(false, member.key, member.value);
  for (const RawMember& member : event_.unknown_keys) add(true, member.key, member.value);
  static constexpr char kKeys[kJsonPadding] = "id\0s\0bp";
  if (!event_.id.empty() && !is_flow && !is_async) add(true, {kKeys, 2}, event_.id);
  const bool is_instant = table == TableKind::Instants || table == TableKind::Allocations;
  if (!event_.scope.empty() && !is_instant) add(true, {kKeys + 3, 1}, event_.scope);
  if (!event_.binding_point.empty() && !binds_as_usual()) {
    add(true, {kKeys + 5, 2}, event_.binding_point);
  }
}

}  // namespace sonde
