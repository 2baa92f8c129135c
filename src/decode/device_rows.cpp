// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/device_rows.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_set>

#include "decode/occupancy.h"
#include "trace/known_names.h"
#include "wire/device.h"

namespace sonde {

using detail::ExtendedKind;
using detail::FieldUnpacker;

DeviceRows::DeviceRows(Recording& recording, const DecodeContext& context)
    : recording_(recording),
      builder_(recording.builder),
      context_(context),
      clock_(*context.clock, recording.anchors) {
  for (const TickWindow& window : context.windows) {
    const bool is_open = window.end_ticks == ~std::uint64_t{0};
    windows_.emplace_back(
        context.clock->to_ns(window.start_ticks),
        is_open ? std::numeric_limits<Nanos>::max() : context.clock->to_ns(window.end_ticks));
  }
}

void DeviceRows::add_calls(const std::vector<DecodedDevices::ApiCall>& calls, SpanTable& local,
                           std::uint32_t first, std::int64_t& last_external_id) {
  if (calls.empty()) return;
  const std::size_t count = local.start_ns.size();
  for (auto* column : {&local.external_id, &local.correlation}) {
    if (column->size() != count) column->resize(count);
  }
  // The innermost operator around the call, or else the innermost scope.
  const auto owner_of = [&](std::uint32_t row) {
    std::uint32_t scope = SpanId::kInvalid;
    for (SpanId at = local.parent[row]; at.valid(); at = local.parent[at.value() - first]) {
      const std::uint32_t around = at.value() - first;
      if (local.kind[around] == SpanKind::CpuOp) return around;
      if (scope == SpanId::kInvalid && is_host_annotation(local.kind[around])) scope = around;
    }
    return scope;
  };
  for (const DecodedDevices::ApiCall& call : calls) {
    const SpanId span(first + call.span);
    ApiCallRow row;
    row.span = span;
    row.callback_id = call.callback_id;
    builder_.api_calls().push_back(row);
    local.correlation.set(call.span, static_cast<std::int64_t>(call.correlation));
    const std::uint32_t owner = owner_of(call.span);
    if (owner != SpanId::kInvalid) {
      if (local.external_id[owner] == 0) local.external_id.set(owner, ++last_external_id);
      local.external_id.set(call.span, local.external_id[owner]);
    }
  }
}

void DeviceRows::add_graph_nodes(const std::vector<DecodedDevices::GraphNode>& nodes,
                                 std::uint32_t first) {
  for (const DecodedDevices::GraphNode& node : nodes) {
    const SpanId maker = node.span == SpanId::kInvalid ? SpanId() : SpanId(first + node.span);
    graph_nodes_[node.id] = {node.copied_from, maker};
  }
}

// A copied node leads back to the node that was made first.
SpanId DeviceRows::maker_of(std::uint64_t graph_node) const {
  constexpr int kMostCopies = 16;
  for (int i = 0; i < kMostCopies; ++i) {
    const auto found = graph_nodes_.find(graph_node);
    if (found == graph_nodes_.end()) return {};
    if (found->second.copied_from == 0) return found->second.maker;
    graph_node = found->second.copied_from;
  }
  return {};
}

void DeviceRows::finish(bool cut_short) {
  calls_ = CallsByNumber(builder_.tables());
  add_devices();
  add_all_work();
  if (cut_short) count_missing_work();
  add_covers();
  add_memory();
  add_metadata();
  add_losses();
}

void DeviceRows::add_all_work() {
  for_each_record(ExtendedKind::DeviceSpan, [this](std::span<const std::uint64_t> words) {
    Work work = {};
    detail::span_fields(work.span, FieldUnpacker(words.data()));
    work.more = words.data() + kDeviceSpanWords;
    work.more_words = words.size() - kDeviceSpanWords;
    add_work(work);
  });
}

// The window that contains or overlaps the work; -1 if there is none.
int DeviceRows::window_of(Nanos start_ns, Nanos end_ns) const {
  // Windows ascend and do not overlap: finds the first that has not ended when the work begins.
  const auto found =
      std::lower_bound(windows_.begin(), windows_.end(), start_ns,
                       [](const auto& window, Nanos time) { return window.second < time; });
  if (found == windows_.end() || end_ns < found->first) return -1;
  return static_cast<int>(found - windows_.begin());
}

TrackId DeviceRows::track_of(const sonde_device_span& span) {
  // Waits of the host have their own track beside the stream, as in Kineto.
  const bool is_wait = span.kind == SONDE_SPAN_SYNC;
  const auto [found, is_new] =
      tracks_.try_emplace({span.device_type, span.device_index, span.stream, is_wait});
  if (is_new) {
    TrackRow row;
    row.process = process_;
    row.device_index = span.device_index;
    row.context = span.context;
    if (span.kind == SONDE_SPAN_OVERHEAD) {
      // Drawn as a separate process, as in Kineto.
      ProcessRow overhead;
      overhead.pid = -1;
      overhead.name = builder_.intern("CUPTI Overhead");
      row = TrackRow();
      row.process = builder_.processes().push_back(overhead);
    } else if (span.stream == SONDE_NO_STREAM) {
      row.kind = TrackKind::Device;
      row.id = -1;
    } else {
      constexpr std::int64_t kWaits = 1'000'000;
      row.kind = TrackKind::Stream;
      row.id = is_wait ? span.stream + kWaits : span.stream;
      row.name =
          builder_.intern("stream " + std::to_string(span.stream) + (is_wait ? " (sync)" : " "));
    }
    found->second = builder_.tracks().push_back(row);
  }
  return found->second;
}

void DeviceRows::add_work(const Work& work) {
  SpanRow row;
  row.kind = known_or(work.span.kind, SpanKind::Other);
  row.start_ns = clock_.to_ns(work.span.start_ns);
  row.duration_ns = std::max<Nanos>(0, work.span.duration_ns);
  Nanos end_ns = 0;
  if (__builtin_add_overflow(row.start_ns, row.duration_ns, &end_ns)) {
    ++undecodable_;
    return;
  }
  const int window = window_of(row.start_ns, end_ns);
  if (window < 0) {
    ++out_of_window_;
    return;
  }
  const auto& [window_start, window_end] = windows_[static_cast<std::size_t>(window)];
  if (row.start_ns < window_start) row.flags |= SpanFlags::kBeganBeforeWindow;
  if (end_ns > window_end) row.flags |= SpanFlags::kEndedAfterWindow;
  if (windows_.size() > 1)
    row.window = WindowId(context_.windows[static_cast<std::size_t>(window)].row);
  row.name = text_of(work.span.name);
  row.correlation = static_cast<std::int64_t>(work.span.correlation);
  row.track = track_of(work.span);
  const SpanId call = calls_.find(process_, row.correlation);
  if (call.valid()) {
    row.external_id = builder_.spans().external_id[call];
  } else if (is_device_work(row.kind)) {
    ++uncorrelated_;
  }
  const SpanId span = builder_.spans().push_back(row);
  switch (span_class(row.kind)) {
    case SpanClass::Kernel:
      add_kernel(work, span);
      break;
    case SpanClass::Copy:
      add_copy(work, span, row.duration_ns);
      break;
    case SpanClass::Wait:
      add_sync(work, span);
      break;
    default:
      break;
  }
  if (!call.valid()) return;
  FlowRow flow;
  flow.id = row.correlation;
  flow.kind = FlowKind::CpuToGpu;
  flow.name = builder_.intern("ac2g");
  flow.from_span = call;
  flow.to_span = span;
  builder_.flows().push_back(flow);
  if (is_device_work(row.kind)) {
    cover_annotations(call, row.track, row.start_ns, end_ns);
  }
}

// What is captured into a graph is not work yet.
void DeviceRows::count_missing_work() {
  std::unordered_set<std::uint64_t> done;
  for_each_record(ExtendedKind::DeviceSpan, [&](std::span<const std::uint64_t> words) {
    sonde_device_span work = {};
    detail::span_fields(work, FieldUnpacker(words.data()));
    done.insert(work.correlation);
  });
  std::unordered_set<std::uint32_t> captured;
  for (const auto& [id, node] : graph_nodes_) {
    if (node.maker.valid()) captured.insert(node.maker.value());
  }
  const SpanTable& spans = builder_.spans();
  for (std::uint32_t row = 0; row < spans.size(); ++row) {
    if (spans.correlation[row] == 0 || !is_call(spans.kind[row])) continue;
    if (captured.count(row) != 0 || !starts_work(builder_.strings()[spans.name[row]])) continue;
    if (done.insert(static_cast<std::uint64_t>(spans.correlation[row])).second) ++work_missing_;
  }
}

void DeviceRows::add_kernel(const Work& work, SpanId span) {
  KernelRow row;
  row.span = span;
  row.context = work.span.context;
  if (work.more_words >= kKernelWords) {
    sonde_kernel kernel = {};
    detail::kernel_fields(kernel, FieldUnpacker(work.more));
    row.grid_x = static_cast<std::int32_t>(kernel.grid[0]);
    row.grid_y = static_cast<std::int32_t>(kernel.grid[1]);
    row.grid_z = static_cast<std::int32_t>(kernel.grid[2]);
    row.block_x = static_cast<std::int32_t>(kernel.block[0]);
    row.block_y = static_cast<std::int32_t>(kernel.block[1]);
    row.block_z = static_cast<std::int32_t>(kernel.block[2]);
    row.cluster_x = kernel.cluster[0];
    row.cluster_y = kernel.cluster[1];
    row.cluster_z = kernel.cluster[2];
    row.registers_per_thread = kernel.registers_per_thread;
    row.static_shared_bytes = kernel.static_shared_bytes;
    row.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    row.shared_bytes = row.static_shared_bytes + row.dynamic_shared_bytes;
    row.local_bytes_per_thread = kernel.local_bytes_per_thread;
    row.queued_ns = kernel.queued_ns != 0 ? clock_.to_ns(kernel.queued_ns) : 0;
    if (kernel.submitted_ns != 0) row.submitted_ns = clock_.to_ns(kernel.submitted_ns);
    if (kernel.graph_node_id != 0) {
      row.graph_id = kernel.graph_id;
      row.graph_node_id = static_cast<std::int64_t>(kernel.graph_node_id);
      row.captured_by = maker_of(kernel.graph_node_id);
    }
    if (kernel.priority != INT16_MIN) row.priority = kernel.priority;
    const auto device = devices_.find({work.span.device_type, work.span.device_index});
    if (device != devices_.end()) add_occupancy(row, device->second, builder_);
  }
  builder_.kernels().push_back(row);
}

void DeviceRows::add_copy(const Work& work, SpanId span, Nanos duration_ns) {
  CopyRow row;
  row.span = span;
  row.context = work.span.context;
  if (work.more_words >= kCopyWords) {
    sonde_copy copy = {};
    detail::copy_fields(copy, FieldUnpacker(work.more));
    row.bytes = static_cast<std::int64_t>(copy.bytes);
    row.kind = known_or(copy.kind, CopyKind::Unknown);
    row.source_kind = known_or(copy.source_kind, MemoryKind::Unknown);
    row.destination_kind = known_or(copy.destination_kind, MemoryKind::Unknown);
    if (row.kind == CopyKind::Memset) row.value = copy.value;
    if (row.kind == CopyKind::PtoP) {
      row.source_device = copy.source_device;
      row.destination_device = copy.destination_device;
      row.source_context = copy.source_context;
      row.destination_context = copy.destination_context;
    }
    if (copy.graph_node_id != 0) {
      row.graph_id = copy.graph_id;
      row.graph_node_id = static_cast<std::int64_t>(copy.graph_node_id);
      row.captured_by = maker_of(copy.graph_node_id);
    }
    if (duration_ns > 0)
      row.bandwidth = static_cast<double>(copy.bytes) / static_cast<double>(duration_ns);
  }
  builder_.copies().push_back(row);
}

void DeviceRows::add_sync(const Work& work, SpanId span) {
  SyncRow row;
  row.span = span;
  row.context = work.span.context;
  row.stream = work.span.stream == SONDE_NO_STREAM ? -1 : std::int64_t{work.span.stream};
  if (work.more_words >= kSyncWords) {
    sonde_sync sync = {};
    detail::sync_fields(sync, FieldUnpacker(work.more));
    row.kind = known_or(sync.kind, SyncKind::Unknown);
    if (sync.event_id != 0xffffffff) {
      row.event_id = sync.event_id;
      row.wait_on_stream =
          sync.wait_on_stream == SONDE_NO_STREAM ? -1 : std::int64_t{sync.wait_on_stream};
      row.wait_on_correlation =
          sync.wait_on_correlation == 0 ? -1 : static_cast<std::int64_t>(sync.wait_on_correlation);
    }
  }
  builder_.syncs().push_back(row);
}

// Covers every annotation around the call, not just the innermost.
void DeviceRows::cover_annotations(SpanId call, TrackId track, Nanos start_ns, Nanos end_ns) {
  const SpanTable& spans = builder_.spans();
  for (SpanId at = spans.parent[call]; at.valid(); at = spans.parent[at]) {
    if (!is_covered_on_device(spans.kind[at])) continue;
    const auto [found, is_new] =
        covers_.try_emplace({at.value(), track.value()}, Cover{start_ns, end_ns});
    if (is_new) continue;
    found->second.start_ns = std::min(found->second.start_ns, start_ns);
    found->second.end_ns = std::max(found->second.end_ns, end_ns);
  }
}

void DeviceRows::add_covers() {
  SpanTable& spans = builder_.spans();
  for (const auto& [key, cover] : covers_) {
    const SpanId annotation(key.first);
    SpanRow row;
    row.kind = SpanKind::GpuUserAnnotation;
    row.name = spans.name[annotation];
    row.track = TrackId(key.second);
    // A nanosecond more on both sides, so that it encloses the work.
    row.start_ns = cover.start_ns - 1;
    row.duration_ns = cover.end_ns - cover.start_ns + 2;
    row.external_id = spans.external_id[annotation];
    row.window = spans.window[annotation];
    spans.push_back(row);
  }
}

}  // namespace sonde
