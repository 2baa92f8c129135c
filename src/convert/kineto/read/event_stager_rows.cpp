// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spans and the rows of other tables that belong to them. A value that does not fit its column is
// kept among the extras.

#include <limits>

#include "convert/json/json_number.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/event_stager.h"

namespace sonde {

namespace {

// Any of these makes a span a communication; the others of their kind are too common as names.
constexpr ArgKeySet kCollectiveSigns(ArgKey::CollectiveName, ArgKey::InElements,
                                     ArgKey::OutElements, ArgKey::GroupSize, ArgKey::GroupName,
                                     ArgKey::CommsId);
constexpr ArgKeySet kSourceKeys = ArgKeySet::range(ArgKey::OverloadName, ArgKey::SourceFunction);
constexpr ArgKeySet kPythonKeys = ArgKeySet::range(ArgKey::PythonId, ArgKey::PythonThread);
constexpr ArgKeySet kKernelKeys = ArgKeySet::range(ArgKey::Queued, ArgKey::ChannelType);

// The process that PyTorch's profiler before Kineto, and RecordProfile in C++, give all operators.
bool is_legacy_host(std::string_view pid) {
  return pid == "\"CPU functions\"" || pid == "\"CPU Functions\"";
}

}  // namespace

bool EventStager::take(ArgKey key, std::int64_t& out) {
  if (!left_.has(key) || !event_[key].is_integer) return false;
  out = event_[key].number;
  left_.remove(key);
  return true;
}

bool EventStager::take(ArgKey key, std::int32_t& out) {
  if (!left_.has(key) || !event_[key].is_integer) return false;
  const std::int64_t number = event_[key].number;
  if (number != static_cast<std::int32_t>(number)) return false;
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

bool EventStager::take_text(ArgKey key, StringId& out) {
  if (!left_.has(key) || !is_quoted(event_[key].text())) return false;
  out = StringId(staged_->texts.id_of(unquoted(event_[key].text())));
  left_.remove(key);
  return true;
}

RawId EventStager::take_raw(ArgKey key, RawMemo& memo) {
  if (!left_.has(key) || !is_quoted(event_[key].text())) return kNoRaw;
  left_.remove(key);
  return memo.id_of(unquoted(event_[key].text()));
}

// Kineto writes a device and a stream as pid and tid, and once more among the arguments.
void EventStager::drop_if(ArgKey key, std::string_view same) {
  if (left_.has(key) && event_[key].text() == same) left_.remove(key);
}

void EventStager::take_triple(ArgKey key, std::int32_t& x, std::int32_t& y, std::int32_t& z) {
  if (!left_.has(key)) return;
  std::int32_t numbers[3] = {0, 0, 0};
  std::size_t count = 0;
  const bool whole = for_each_element(event_[key].text(), [&](std::string_view raw) {
    const std::optional<std::int64_t> number = to_integer(raw);
    if (!number || *number != static_cast<std::int32_t>(*number) || count == 3) return false;
    numbers[count++] = static_cast<std::int32_t>(*number);
    return true;
  });
  if (!whole || count != 3) return;
  x = numbers[0];
  y = numbers[1];
  z = numbers[2];
  left_.remove(key);
}

void EventStager::take_occupancy(KernelRow& kernel) {
  if (!left_.has(ArgKey::Occupancy)) return;
  struct Part {
    std::string_view key;
    std::int32_t KernelRow::* column;
  };
  static constexpr Part kParts[] = {
      {"activeBlocksPerMultiprocessor", &KernelRow::active_blocks_per_sm},
      {"blockLimitRegs", &KernelRow::block_limit_registers},
      {"blockLimitSharedMem", &KernelRow::block_limit_shared},
      {"blockLimitWarps", &KernelRow::block_limit_warps},
      {"blockLimitBlocks", &KernelRow::block_limit_blocks},
      {"blockLimitBarriers", &KernelRow::block_limit_barriers},
      {"allocatedRegistersPerBlock", &KernelRow::registers_per_block},
  };
  KernelRow filled = kernel;
  const auto take_part = [&](std::string_view key, std::string_view value) {
    if (key == "limitingFactors" && is_quoted(value)) {
      filled.limiting_factors = StringId(staged_->texts.id_of(unquoted(value)));
      return true;
    }
    const std::optional<std::int64_t> number = to_integer(value);
    if (!number || *number < 0) return false;
    if (key == "allocatedSharedMemPerBlock") {
      filled.allocated_shared_bytes = *number;
      return true;
    }
    for (const Part& part : kParts) {
      if (part.key != key || *number > std::numeric_limits<std::int32_t>::max()) continue;
      filled.*part.column = static_cast<std::int32_t>(*number);
      return true;
    }
    return false;
  };
  if (!for_each_member(event_[ArgKey::Occupancy].text(), take_part)) return;
  kernel = filled;
  left_.remove(ArgKey::Occupancy);
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
      // Kineto writes them a nanosecond too long at both ends, so that viewers nest what they
      // cover.
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
  }
  take_value(span, SpanField::ExternalId, ArgKey::ExternalId);
  take_value(span, SpanField::EventIndex, ArgKey::EventIndex);
  take_value(span, SpanField::RecordFunctionId, ArgKey::RecordFunctionId);
  take_value(span, SpanField::Correlation, ArgKey::Correlation);
  take_value(span, SpanField::SequenceNumber, ArgKey::SequenceNumber);
  take_value(span, SpanField::ForwardThread, ArgKey::ForwardThread);
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
  take_raw_value(span, SpanField::SourceFile, ArgKey::SourceFile, staged_->texts);
  std::int32_t line = -1;
  const bool is_line = left_.has(ArgKey::SourceLine) && event_[ArgKey::SourceLine].number >= 0;
  if (is_line && take(ArgKey::SourceLine, line)) add_value(span, SpanField::SourceLine, line);
  take_raw_value(span, SpanField::SourceFunction, ArgKey::SourceFunction, staged_->texts);
}

void EventStager::stage_side_rows(SpanKind kind, std::uint32_t row) {
  if (left_.has_any(kPythonKeys)) stage_python_call(row);
  std::int64_t callback = -1;
  if (take(ArgKey::CallbackId, callback)) {
    ApiCallRow call;
    call.span = SpanId(row);
    call.callback_id = callback;
    staged_->api_calls.push_back(call);
  }
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

// The number of the call, until spans have theirs.
void EventStager::take_captured_by(SpanId& out) {
  const bool is_there = left_.has(ArgKey::CapturedBy) && event_[ArgKey::CapturedBy].is_integer;
  const std::int64_t number = is_there ? event_[ArgKey::CapturedBy].number : 0;
  if (number <= 0 || number >= SpanId::kInvalid) return;
  out = SpanId(static_cast<std::uint32_t>(number));
  left_.remove(ArgKey::CapturedBy);
}

void EventStager::stage_kernel(std::uint32_t row) {
  KernelRow kernel;
  kernel.span = SpanId(row);
  take(ArgKey::Context, kernel.context);
  take(ArgKey::Queued, kernel.queued_ns);
  take(ArgKey::Registers, kernel.registers_per_thread);
  take(ArgKey::SharedMemory, kernel.shared_bytes);
  take(ArgKey::BlocksPerSm, kernel.blocks_per_sm);
  take(ArgKey::WarpsPerSm, kernel.warps_per_sm);
  take(ArgKey::OccupancyPercent, kernel.occupancy_percent);
  take_triple(ArgKey::Grid, kernel.grid_x, kernel.grid_y, kernel.grid_z);
  take_triple(ArgKey::Block, kernel.block_x, kernel.block_y, kernel.block_z);
  take_occupancy(kernel);
  take(ArgKey::GraphId, kernel.graph_id);
  take(ArgKey::GraphNodeId, kernel.graph_node_id);
  take(ArgKey::Priority, kernel.priority);
  take_captured_by(kernel.captured_by);
  take(ArgKey::Channel, kernel.channel);
  take(ArgKey::ChannelType, kernel.channel_type);
  drop_if(ArgKey::Device, event_.pid);
  drop_if(ArgKey::Stream, event_.tid);
  staged_->kernels.push_back(kernel);
}

void EventStager::stage_copy(std::uint32_t row) {
  CopyRow copy;
  copy.span = SpanId(row);
  take(ArgKey::CopyBytes, copy.bytes);
  take(ArgKey::Bandwidth, copy.bandwidth);
  if (!take(ArgKey::Context, copy.context)) take(ArgKey::InContext, copy.context);
  take(ArgKey::FromDevice, copy.source_device);
  take(ArgKey::ToDevice, copy.destination_device);
  take(ArgKey::FromContext, copy.source_context);
  take(ArgKey::ToContext, copy.destination_context);
  take(ArgKey::GraphId, copy.graph_id);
  take(ArgKey::GraphNodeId, copy.graph_node_id);
  take_captured_by(copy.captured_by);
  drop_if(ArgKey::Device, event_.pid);
  drop_if(ArgKey::InDevice, event_.pid);
  drop_if(ArgKey::Stream, event_.tid);
  staged_->copies.push_back(copy);
}

void EventStager::stage_sync(std::uint32_t row) {
  SyncRow sync;
  sync.span = SpanId(row);
  if (left_.has(ArgKey::SyncKindText) && is_quoted(event_[ArgKey::SyncKindText].text())) {
    const std::optional<SyncKind> kind =
        parse_sync_kind(unquoted(event_[ArgKey::SyncKindText].text()));
    if (kind) {
      sync.kind = *kind;
      left_.remove(ArgKey::SyncKindText);
    }
  } else if (event_.name_text == to_string(SyncKind::EventRecord)) {
    sync.kind = SyncKind::EventRecord;
  }
  if (!take(ArgKey::EventId, sync.event_id)) take(ArgKey::WaitOnEvent, sync.event_id);
  take(ArgKey::WaitOnStream, sync.wait_on_stream);
  take(ArgKey::WaitOnCorrelation, sync.wait_on_correlation);
  take(ArgKey::Stream, sync.stream);
  take(ArgKey::Context, sync.context);
  drop_if(ArgKey::Device, event_.pid);
  staged_->syncs.push_back(sync);
}

void EventStager::stage_collective(std::uint32_t row) {
  CollectiveRow row_of;
  row_of.span = SpanId(row);
  take_text(ArgKey::CollectiveName, row_of.name);
  take_text(ArgKey::DataType, row_of.dtype);
  take(ArgKey::InElements, row_of.in_elements);
  take(ArgKey::OutElements, row_of.out_elements);
  take_text(ArgKey::InSplit, row_of.in_split);
  take_text(ArgKey::OutSplit, row_of.out_split);
  take(ArgKey::RankStart, row_of.rank_start);
  take(ArgKey::RankStride, row_of.rank_stride);
  take(ArgKey::GroupSize, row_of.group_size);
  take_text(ArgKey::GroupName, row_of.group_name);
  take_text(ArgKey::GroupDescription, row_of.group_description);
  take_text(ArgKey::GroupRanks, row_of.group_ranks);
  take(ArgKey::Rank, row_of.rank);
  take(ArgKey::DestinationRank, row_of.destination_rank);
  take(ArgKey::SourceRank, row_of.source_rank);
  take(ArgKey::CollectiveSequence, row_of.sequence_number);
  if (left_.has(ArgKey::CommsId)) {
    if (const auto id = to_unsigned(event_[ArgKey::CommsId].text())) {
      row_of.comms_id = *id;
      left_.remove(ArgKey::CommsId);
    }
  }
  if (left_.has(ArgKey::IsAsync) && event_[ArgKey::IsAsync].is_integer &&
      (event_[ArgKey::IsAsync].number | 1) == 1) {
    row_of.is_async = static_cast<std::int8_t>(event_[ArgKey::IsAsync].number);
    left_.remove(ArgKey::IsAsync);
  }
  take_text(ArgKey::InputAddresses, row_of.input_addresses);
  take_text(ArgKey::OutputAddresses, row_of.output_addresses);
  staged_->collectives.push_back(row_of);
}

void EventStager::stage_python_call(std::uint32_t row) {
  PythonCallRow call;
  call.span = SpanId(row);
  take(ArgKey::PythonId, call.python_id);
  if (left_.has(ArgKey::PythonParentId) && event_[ArgKey::PythonParentId].text() == "null") {
    left_.remove(ArgKey::PythonParentId);
  }
  take(ArgKey::PythonParentId, call.parent_python_id);
  take(ArgKey::PythonModuleId, call.module_id);
  take(ArgKey::PythonThread, call.python_thread);
  staged_->python_calls.push_back(call);
}

// Whatever has found no column.
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
