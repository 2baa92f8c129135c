// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/event_writer.h"

#include <limits>

// The `args` of a span: one function for each table that holds some, in a fixed order.

namespace sonde {

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

}  // namespace

char* KinetoEvents::span_args(char* at, SpanId span, Cursors& cursors) {
  at = integer_unless(at, ", \"External id\": ", spans_.external_id[span], 0);
  at = call_args(at, span);
  at = device_args(at, span, cursors);
  if (cursors.collectives.has(span)) {
    at = collective_args(at, CollectiveId(cursors.collectives.take_one(span)));
  }
  if (cursors.python_calls.has(span)) {
    at = python_args(at, PythonCallId(cursors.python_calls.take_one(span)));
  }
  at = integer_unless(at, ", \"Ev Idx\": ", spans_.event_index[span], -1);
  if ((spans_.flags[span] & SpanFlags::kUnfinished) != 0) at = put(at, ", \"finished\": false");
  at = own_args(at, span);
  return extras_.empty() ? at : arg_extras(at);
}

// What an operator was called with and from where.
char* KinetoEvents::call_args(char* at, SpanId span) {
  at = integer_unless(at, ", \"Record function id\": ", spans_.record_function_id[span], -1);
  const std::int64_t sequence = spans_.sequence_number[span];
  const std::int64_t forward_thread = spans_.forward_thread[span];
  at = integer_unless(at, ", \"Sequence number\": ", sequence, -1);
  if (sequence >= 0 || forward_thread != 0) {
    at = integer(at, ", \"Fwd thread id\": ", forward_thread);
  }
  at = shared(at, plan_.arguments, spans_.arguments[span], append_arguments);
  at = shared(at, plan_.stacks, spans_.stack[span], append_stack);
  at = shared(at, plan_.modules, spans_.module[span], append_module);
  return at;
}

// No key may stand twice: a span is one thing on a device, and has one row in each table.
char* KinetoEvents::device_args(char* at, SpanId span, Cursors& cursors) {
  const bool is_plain =
      !cursors.kernels.has(span) && !cursors.copies.has(span) && !cursors.syncs.has(span);
  if (cursors.api_calls.has(span)) {
    const ApiCallId call(cursors.api_calls.take_one(span));
    const ApiCallTable& calls = plan_.trace.api_calls();
    at = integer_unless(at, ", \"cbid\": ", calls.callback_id[call], -1);
    at = integer_unless(at, ", \"return value\": ", calls.return_value[call], 0);
    at = integer_unless(at, ", \"context\": ", calls.context[call], -1);
  }
  if (is_plain) {
    if (is_kineto_stream_event(spans_.kind[span])) return device_and_stream(at, span, -1);
    return integer_unless(at, ", \"correlation\": ", spans_.correlation[span], 0);
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
  at = integer_or_extra(at, ", \"device\": ", is_known ? tracks.device_index[track] : -1, -1);
  at = integer_unless(at, ", \"context\": ", context, -1);
  at = integer_or_extra(at, ", \"stream\": ", is_known ? tracks.id[track] : kNone, kNone);
  return integer_unless(at, ", \"correlation\": ", spans_.correlation[span], 0);
}

// The number of the call that put the work's node into its graph.
char* KinetoEvents::captured_by(char* at, SpanId call) {
  if (!call.valid()) return at;
  return integer_unless(at, ", \"captured by correlation\": ", spans_.correlation[call], 0);
}

char* KinetoEvents::kernel_args(char* at, SpanId span, KernelId kernel) {
  const KernelTable& table = plan_.trace.kernels();
  at = integer_unless(at, ", \"queued\": ", table.queued_ns[kernel], -1);
  at = device_and_stream(at, span, table.context[kernel]);
  at = integer_unless(at, ", \"registers per thread\": ", table.registers_per_thread[kernel], -1);
  at = integer_unless(at, ", \"shared memory\": ", table.shared_bytes[kernel], -1);
  at = number_unless(at, ", \"blocks per SM\": ", table.blocks_per_sm[kernel], -1);
  at = number_unless(at, ", \"warps per SM\": ", table.warps_per_sm[kernel], -1);
  if (table.grid_x[kernel] != 0 || table.grid_y[kernel] != 0 || table.grid_z[kernel] != 0) {
    at = triple(at, ", \"grid\": ", table.grid_x[kernel], table.grid_y[kernel],
                table.grid_z[kernel]);
  }
  if (table.block_x[kernel] != 0 || table.block_y[kernel] != 0 || table.block_z[kernel] != 0) {
    at = triple(at, ", \"block\": ", table.block_x[kernel], table.block_y[kernel],
                table.block_z[kernel]);
  }
  at = number_unless(at, ", \"est. achieved occupancy %\": ", table.occupancy_percent[kernel], -1);
  at = occupancy_args(at, kernel);
  at = integer_unless(at, ", \"graph id\": ", table.graph_id[kernel], -1);
  at = integer_unless(at, ", \"graph node id\": ", table.graph_node_id[kernel], -1);
  at = captured_by(at, table.captured_by[kernel]);
  at = integer_unless(at, ", \"priority\": ", table.priority[kernel], table.priority.null_value());
  at = integer_unless(at, ", \"channel\": ", table.channel[kernel], -1);
  at = integer_unless(at, ", \"channel_type\": ", table.channel_type[kernel], -1);
  if (table.cluster_x[kernel] != 0 || table.cluster_y[kernel] != 0 ||
      table.cluster_z[kernel] != 0) {
    at = triple(at, ", \"cluster\": ", table.cluster_x[kernel], table.cluster_y[kernel],
                table.cluster_z[kernel]);
  }
  at = integer_unless(at, ", \"static shared memory\": ", table.static_shared_bytes[kernel], -1);
  at = integer_unless(at, ", \"dynamic shared memory\": ", table.dynamic_shared_bytes[kernel], -1);
  at = integer_unless(at, ", \"local memory per thread\": ", table.local_bytes_per_thread[kernel],
                      -1);
  return integer_unless(at, ", \"submitted\": ", table.submitted_ns[kernel], -1);
}

char* KinetoEvents::occupancy_args(char* at, KernelId kernel) {
  const KernelTable& table = plan_.trace.kernels();
  if (table.active_blocks_per_sm[kernel] < 0) return at;
  at = integer(at, ", \"occupancy\": {\"activeBlocksPerMultiprocessor\": ",
               table.active_blocks_per_sm[kernel]);
  at = string_if(at, ", \"limitingFactors\": ", table.limiting_factors[kernel]);
  at = integer_unless(at, ", \"blockLimitRegs\": ", table.block_limit_registers[kernel], -1);
  at = integer_unless(at, ", \"blockLimitSharedMem\": ", table.block_limit_shared[kernel], -1);
  at = integer_unless(at, ", \"blockLimitWarps\": ", table.block_limit_warps[kernel], -1);
  at = integer_unless(at, ", \"blockLimitBlocks\": ", table.block_limit_blocks[kernel], -1);
  at = integer_unless(at, ", \"blockLimitBarriers\": ", table.block_limit_barriers[kernel], -1);
  at = integer_unless(at, ", \"allocatedRegistersPerBlock\": ", table.registers_per_block[kernel],
                      -1);
  at = integer_unless(
      at, ", \"allocatedSharedMemPerBlock\": ", table.allocated_shared_bytes[kernel], -1);
  return put(at, "}");
}

char* KinetoEvents::copy_args(char* at, SpanId span, CopyId copy) {
  const CopyTable& table = plan_.trace.copies();
  const bool is_peer = table.source_device[copy] >= 0 || table.destination_device[copy] >= 0;
  if (is_peer) {
    const TrackId track = spans_.track[span];
    at = integer(at, ", \"fromDevice\": ", table.source_device[copy]);
    at = integer_or_extra(
        at, ", \"inDevice\": ", track.valid() ? plan_.trace.tracks().device_index[track] : -1, -1);
    at = integer(at, ", \"toDevice\": ", table.destination_device[copy]);
    at = integer_unless(at, ", \"fromContext\": ", table.source_context[copy], -1);
    at = integer_unless(at, ", \"inContext\": ", table.context[copy], -1);
    at = integer_unless(at, ", \"toContext\": ", table.destination_context[copy], -1);
    at = integer_or_extra(
        at, ", \"stream\": ", track.valid() ? plan_.trace.tracks().id[track] : kNone, kNone);
    at = integer_unless(at, ", \"correlation\": ", spans_.correlation[span], 0);
  } else {
    at = device_and_stream(at, span, table.context[copy]);
  }
  at = integer_unless(at, ", \"bytes\": ", table.bytes[copy], -1);
  at = number_unless(at, ", \"memory bandwidth (GB/s)\": ", table.bandwidth[copy], -1);
  at = integer_unless(at, ", \"value\": ", table.value[copy], -1);
  at = integer_unless(at, ", \"graph id\": ", table.graph_id[copy], -1);
  at = integer_unless(at, ", \"graph node id\": ", table.graph_node_id[copy], -1);
  return captured_by(at, table.captured_by[copy]);
}

char* KinetoEvents::sync_args(char* at, SpanId span, SyncId sync) {
  const SyncTable& table = plan_.trace.syncs();
  const SyncKind kind = table.kind[sync];
  if (kind == SyncKind::EventRecord) {
    at = integer_unless(at, ", \"event_id\": ", table.event_id[sync], -1);
  } else {
    at = put(put(put(at, ", \"cuda_sync_kind\": \""), to_string(kind)), "\"");
    at = integer_unless(at, ", \"wait_on_stream\": ", table.wait_on_stream[sync],
                        table.wait_on_stream.null_value());
    at = integer_unless(at, ", \"wait_on_cuda_event_record_corr_id\": ",
                        table.wait_on_correlation[sync], table.wait_on_correlation.null_value());
    if (table.wait_on_stream[sync] != table.wait_on_stream.null_value() ||
        table.event_id[sync] >= 0) {
      at = integer(at, ", \"wait_on_cuda_event_id\": ", table.event_id[sync]);
    }
  }
  const TrackId track = spans_.track[span];
  const std::int64_t none = table.stream.null_value();
  const std::int64_t of_track = track.valid() ? plan_.trace.tracks().id[track] : none;
  const std::int64_t stream = table.stream[sync] == none ? of_track : table.stream[sync];
  at = integer_or_extra(at, ", \"stream\": ", stream, none);
  at = integer_unless(at, ", \"correlation\": ", spans_.correlation[span], 0);
  at = integer_or_extra(
      at, ", \"device\": ", track.valid() ? plan_.trace.tracks().device_index[track] : -1, -1);
  return integer_unless(at, ", \"context\": ", table.context[sync], -1);
}

char* KinetoEvents::collective_args(char* at, CollectiveId row) {
  const CollectiveTable& table = plan_.trace.collectives();
  at = string_if(at, ", \"Collective name\": ", table.name[row]);
  at = string_if(at, ", \"dtype\": ", table.dtype[row]);
  at = integer_unless(at, ", \"In msg nelems\": ", table.in_elements[row], -1);
  at = integer_unless(at, ", \"Out msg nelems\": ", table.out_elements[row], -1);
  at = string_if(at, ", \"In split size\": ", table.in_split[row]);
  at = string_if(at, ", \"Out split size\": ", table.out_split[row]);
  at = integer_unless(at, ", \"Global rank start\": ", table.rank_start[row], -1);
  at = integer_unless(at, ", \"Global rank stride\": ", table.rank_stride[row], -1);
  at = integer_unless(at, ", \"Group size\": ", table.group_size[row], -1);
  at = string_if(at, ", \"Process Group Name\": ", table.group_name[row]);
  at = string_if(at, ", \"Process Group Description\": ", table.group_description[row]);
  at = string_if(at, ", \"Process Group Ranks\": ", table.group_ranks[row]);
  at = integer_unless(at, ", \"Rank\": ", table.rank[row], -1);
  at = integer_unless(at, ", \"Dst Rank\": ", table.destination_rank[row], -1);
  at = integer_unless(at, ", \"Src Rank\": ", table.source_rank[row], -1);
  at = integer_unless(at, ", \"Seq\": ", table.sequence_number[row], -1);
  if (table.comms_id[row] != 0) at = put_unsigned(put(at, ", \"Comms Id\": "), table.comms_id[row]);
  at = integer_unless(at, ", \"Is asynchronized op\": ", table.is_async[row], -1);
  at = string_if(at, ", \"Input Tensors start\": ", table.input_addresses[row]);
  return string_if(at, ", \"Output Tensors start\": ", table.output_addresses[row]);
}

char* KinetoEvents::python_args(char* at, PythonCallId row) {
  const PythonCallTable& table = plan_.trace.python_calls();
  const std::int64_t parent = table.parent_python_id[row];
  at = put(at, ", \"Python parent id\": ");
  at = parent < 0 ? put(at, "null") : put_integer(at, parent);
  at = integer_unless(at, ", \"Python id\": ", table.python_id[row], -1);
  at = integer_unless(at, ", \"Python module id\": ", table.module_id[row], -1);
  return integer_unless(at, ", \"Python thread\": ", table.python_thread[row], -1);
}

// What Kineto has no key for. These stand last, before the extras, where they also stand when a
// reader kept them as extras.
char* KinetoEvents::own_args(char* at, SpanId span) {
  if (const TrackId track = spans_.end_track[span]; track.valid()) {
    at = text(put(at, ", \"End thread\": "), plan_.identity.line(track.index(), 0).tid);
  }
  at = string_if(at, ", \"Overload name\": ", spans_.overload_name[span]);
  at = string_if(at, ", \"File\": ", spans_.source_file[span]);
  at = integer_unless(at, ", \"Line\": ", spans_.source_line[span], -1);
  return string_if(at, ", \"Function\": ", spans_.source_function[span]);
}

}  // namespace sonde
