// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/event_writer.h"

#include <limits>

// The `args` of a span: one function per table that contributes, in a fixed order.

namespace sonde {

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

}  // namespace

char* KinetoEvents::span_args(char* at, SpanId span, Cursors& cursors) {
  at = column<ArgKey::ExternalId>(at, spans_.external_id, span);
  at = call_args(at, span);
  at = device_args(at, span, cursors);
  if (cursors.collectives.has(span)) {
    at = collective_args(at, CollectiveId(cursors.collectives.take_one(span)));
  }
  if (cursors.python_calls.has(span)) {
    at = python_args(at, PythonCallId(cursors.python_calls.take_one(span)));
  }
  at = column<ArgKey::EvIdx>(at, spans_.event_index, span);
  if ((spans_.flags[span] & SpanFlags::kUnfinished) != 0) {
    at = put(put_key<ArgKey::Finished>(at), "false");
  }
  at = own_args(at, span);
  return extras_.empty() ? at : arg_extras(at);
}

// How an operator was called, and from where.
char* KinetoEvents::call_args(char* at, SpanId span) {
  at = column<ArgKey::RecordFunctionId>(at, spans_.record_function_id, span);
  const std::int64_t sequence = spans_.sequence_number[span];
  const std::int64_t forward_thread = spans_.forward_thread[span];
  at = integer_unless<ArgKey::SequenceNumber>(at, sequence, -1);
  if (sequence >= 0 || forward_thread != 0) {
    at = integer<ArgKey::FwdThreadId>(at, forward_thread);
  }
  at = shared(at, plan_.arguments, spans_.arguments[span], append_arguments);
  at = shared(at, plan_.stacks, spans_.stack[span], append_stack);
  at = shared(at, plan_.modules, spans_.module[span], append_module);
  return at;
}

// No key may occur twice: a span is one thing on a device and has one row in each table.
char* KinetoEvents::device_args(char* at, SpanId span, Cursors& cursors) {
  const bool is_plain =
      !cursors.kernels.has(span) && !cursors.copies.has(span) && !cursors.syncs.has(span);
  if (cursors.api_calls.has(span)) {
    const ApiCallId call(cursors.api_calls.take_one(span));
    const ApiCallTable& calls = plan_.trace.api_calls();
    at = column<ArgKey::Cbid>(at, calls.callback_id, call);
    at = column<ArgKey::ReturnValue>(at, calls.return_value, call);
    if (is_plain) at = column<ArgKey::Context>(at, calls.context, call);
  }
  if (is_plain) {
    if (is_kineto_stream_event(spans_.kind[span])) return device_and_stream(at, span, -1);
    return column<ArgKey::Correlation>(at, spans_.correlation, span);
  }
  const bool has_kernel = cursors.kernels.has(span);
  const bool has_copy = cursors.copies.has(span);
  if (has_kernel) at = kernel_args(at, span, KernelId(cursors.kernels.take_one(span)));
  if (has_copy) {
    const CopyId copy(cursors.copies.take_one(span));
    if (!has_kernel) at = copy_args(at, span, copy);
  }
  if (cursors.syncs.has(span)) {
    const SyncId sync(cursors.syncs.take_one(span));
    if (!has_kernel && !has_copy) at = sync_args(at, span, sync);
  }
  return at;
}

char* KinetoEvents::device_and_stream(char* at, SpanId span, std::int64_t context) {
  const TrackTable& tracks = plan_.trace.tracks();
  const TrackId track = spans_.track[span];
  const bool is_known = track.valid() && tracks.device_index[track] >= 0;
  at = integer_or_extra<ArgKey::Device>(at, is_known ? tracks.device_index[track] : -1, -1);
  at = integer_unless<ArgKey::Context>(at, context, -1);
  at = integer_or_extra<ArgKey::Stream>(at, is_known ? tracks.id[track] : kNone, kNone);
  return column<ArgKey::Correlation>(at, spans_.correlation, span);
}

// The number of the call that put the work's node into its graph.
char* KinetoEvents::captured_by(char* at, SpanId call) {
  if (!call.valid()) return at;
  return column<ArgKey::CapturedByCorrelation>(at, spans_.correlation, call);
}

char* KinetoEvents::kernel_args(char* at, SpanId span, KernelId kernel) {
  const KernelTable& table = plan_.trace.kernels();
  at = column<ArgKey::Queued>(at, table.queued_ns, kernel);
  at = device_and_stream(at, span, table.context[kernel]);
  at = column<ArgKey::RegistersPerThread>(at, table.registers_per_thread, kernel);
  at = column<ArgKey::SharedMemory>(at, table.shared_bytes, kernel);
  at = column<ArgKey::BlocksPerSM>(at, table.blocks_per_sm, kernel);
  at = column<ArgKey::WarpsPerSM>(at, table.warps_per_sm, kernel);
  at = triple<ArgKey::Grid>(at, table.grid_x[kernel], table.grid_y[kernel], table.grid_z[kernel]);
  at = triple<ArgKey::Block>(at, table.block_x[kernel], table.block_y[kernel],
                             table.block_z[kernel]);
  at = column<ArgKey::EstAchievedOccupancy>(at, table.occupancy_percent, kernel);
  at = occupancy_args(at, kernel);
  at = column<ArgKey::GraphId>(at, table.graph_id, kernel);
  at = column<ArgKey::GraphNodeId>(at, table.graph_node_id, kernel);
  at = captured_by(at, table.captured_by[kernel]);
  at = column<ArgKey::Priority>(at, table.priority, kernel);
  at = column<ArgKey::Channel>(at, table.channel, kernel);
  at = column<ArgKey::ChannelType>(at, table.channel_type, kernel);
  at = triple<ArgKey::Cluster>(at, table.cluster_x[kernel], table.cluster_y[kernel],
                               table.cluster_z[kernel]);
  at = column<ArgKey::StaticSharedMemory>(at, table.static_shared_bytes, kernel);
  at = column<ArgKey::DynamicSharedMemory>(at, table.dynamic_shared_bytes, kernel);
  at = column<ArgKey::LocalMemoryPerThread>(at, table.local_bytes_per_thread, kernel);
  return column<ArgKey::Submitted>(at, table.submitted_ns, kernel);
}

char* KinetoEvents::occupancy_args(char* at, KernelId kernel) {
  const KernelTable& table = plan_.trace.kernels();
  if (table.active_blocks_per_sm[kernel] < 0) return at;
  constexpr std::string_view kFirst =
      written_key<OccupancyKey::ActiveBlocksPerMultiprocessor>().substr(2);  // without the comma
  at = put(put(put_key<ArgKey::Occupancy>(at), "{"), kFirst);
  at = put_integer(at, table.active_blocks_per_sm[kernel]);
  at = column<OccupancyKey::LimitingFactors>(at, table.limiting_factors, kernel);
  at = column<OccupancyKey::BlockLimitRegs>(at, table.block_limit_registers, kernel);
  at = column<OccupancyKey::BlockLimitSharedMem>(at, table.block_limit_shared, kernel);
  at = column<OccupancyKey::BlockLimitWarps>(at, table.block_limit_warps, kernel);
  at = column<OccupancyKey::BlockLimitBlocks>(at, table.block_limit_blocks, kernel);
  at = column<OccupancyKey::BlockLimitBarriers>(at, table.block_limit_barriers, kernel);
  at = column<OccupancyKey::AllocatedRegistersPerBlock>(at, table.registers_per_block, kernel);
  at = column<OccupancyKey::AllocatedSharedMemPerBlock>(at, table.allocated_shared_bytes, kernel);
  return put(at, "}");
}

char* KinetoEvents::copy_args(char* at, SpanId span, CopyId copy) {
  const CopyTable& table = plan_.trace.copies();
  const bool is_peer = table.source_device[copy] >= 0 || table.destination_device[copy] >= 0;
  if (is_peer) {
    const TrackId track = spans_.track[span];
    at = integer<ArgKey::FromDevice>(at, table.source_device[copy]);
    at = integer_or_extra<ArgKey::InDevice>(
        at, track.valid() ? plan_.trace.tracks().device_index[track] : -1, -1);
    at = integer<ArgKey::ToDevice>(at, table.destination_device[copy]);
    at = column<ArgKey::FromContext>(at, table.source_context, copy);
    at = column<ArgKey::InContext>(at, table.context, copy);
    at = column<ArgKey::ToContext>(at, table.destination_context, copy);
    at = integer_or_extra<ArgKey::Stream>(
        at, track.valid() ? plan_.trace.tracks().id[track] : kNone, kNone);
    at = column<ArgKey::Correlation>(at, spans_.correlation, span);
  } else {
    at = device_and_stream(at, span, table.context[copy]);
  }
  at = column<ArgKey::CopyBytes>(at, table.bytes, copy);
  at = column<ArgKey::MemoryBandwidthGBS>(at, table.bandwidth, copy);
  at = column<ArgKey::Value>(at, table.value, copy);
  at = column<ArgKey::GraphId>(at, table.graph_id, copy);
  at = column<ArgKey::GraphNodeId>(at, table.graph_node_id, copy);
  return captured_by(at, table.captured_by[copy]);
}

char* KinetoEvents::sync_args(char* at, SpanId span, SyncId sync) {
  const SyncTable& table = plan_.trace.syncs();
  const SyncKind kind = table.kind[sync];
  if (kind == SyncKind::EventRecord) {
    at = column<ArgKey::EventId>(at, table.event_id, sync);
  } else {
    at = value(put_key<ArgKey::CudaSyncKind>(at), kind);
    at = column<ArgKey::WaitOnStream>(at, table.wait_on_stream, sync);
    at = column<ArgKey::WaitOnCudaEventRecordCorrId>(at, table.wait_on_correlation, sync);
    if (table.wait_on_stream[sync] != table.wait_on_stream.null_value() ||
        table.event_id[sync] >= 0) {
      at = integer<ArgKey::WaitOnCudaEventId>(at, table.event_id[sync]);
    }
  }
  const TrackId track = spans_.track[span];
  const std::int64_t none = table.stream.null_value();
  const std::int64_t of_track = track.valid() ? plan_.trace.tracks().id[track] : none;
  const std::int64_t stream = table.stream[sync] == none ? of_track : table.stream[sync];
  at = integer_or_extra<ArgKey::Stream>(at, stream, none);
  at = column<ArgKey::Correlation>(at, spans_.correlation, span);
  at = integer_or_extra<ArgKey::Device>(
      at, track.valid() ? plan_.trace.tracks().device_index[track] : -1, -1);
  return column<ArgKey::Context>(at, table.context, sync);
}

char* KinetoEvents::collective_args(char* at, CollectiveId row) {
  const CollectiveTable& table = plan_.trace.collectives();
  at = column<ArgKey::CollectiveName>(at, table.name, row);
  at = column<ArgKey::Dtype>(at, table.dtype, row);
  at = column<ArgKey::InMsgNelems>(at, table.in_elements, row);
  at = column<ArgKey::OutMsgNelems>(at, table.out_elements, row);
  at = column<ArgKey::InSplitSize>(at, table.in_split, row);
  at = column<ArgKey::OutSplitSize>(at, table.out_split, row);
  at = column<ArgKey::GlobalRankStart>(at, table.rank_start, row);
  at = column<ArgKey::GlobalRankStride>(at, table.rank_stride, row);
  at = column<ArgKey::GroupSize>(at, table.group_size, row);
  at = column<ArgKey::ProcessGroupName>(at, table.group_name, row);
  at = column<ArgKey::ProcessGroupDescription>(at, table.group_description, row);
  at = column<ArgKey::ProcessGroupRanks>(at, table.group_ranks, row);
  at = column<ArgKey::Rank>(at, table.rank, row);
  at = column<ArgKey::DstRank>(at, table.destination_rank, row);
  at = column<ArgKey::SrcRank>(at, table.source_rank, row);
  at = column<ArgKey::Seq>(at, table.sequence_number, row);
  at = column<ArgKey::CommsId>(at, table.comms_id, row);
  at = column<ArgKey::IsAsynchronizedOp>(at, table.is_async, row);
  at = column<ArgKey::InputTensorsStart>(at, table.input_addresses, row);
  return column<ArgKey::OutputTensorsStart>(at, table.output_addresses, row);
}

char* KinetoEvents::python_args(char* at, PythonCallId row) {
  const PythonCallTable& table = plan_.trace.python_calls();
  const std::int64_t parent = table.parent_python_id[row];
  at = put_key<ArgKey::PythonParentId>(at);
  at = parent < 0 ? put(at, "null") : put_integer(at, parent);
  at = column<ArgKey::PythonId>(at, table.python_id, row);
  at = column<ArgKey::PythonModuleId>(at, table.module_id, row);
  return column<ArgKey::PythonThread>(at, table.python_thread, row);
}

// Arguments that Kineto has no key for. They come last, before the extras, which is also their
// place when a reader kept them as extras.
char* KinetoEvents::own_args(char* at, SpanId span) {
  if (const TrackId track = spans_.end_track[span]; track.valid()) {
    at = text(put_key<ArgKey::EndThread>(at), plan_.identity.line(track.index(), 0).tid);
  }
  if (!has_foreign_category(span)) at = column<ArgKey::Category>(at, spans_.category, span);
  at = column<ArgKey::OverloadName>(at, spans_.overload_name, span);
  at = column<ArgKey::File>(at, spans_.source_file, span);
  at = column<ArgKey::Line>(at, spans_.source_line, span);
  return column<ArgKey::Function>(at, spans_.source_function, span);
}

}  // namespace sonde
