// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/activity.h"

#include <algorithm>
#include <cstring>

#include "collect/cuda/activity_layout.h"

namespace sonde::cuda {
namespace {

// The fields of a record, by offset.
class Record {
 public:
  explicit Record(const std::uint8_t* at) : at_(at) {}
  template <typename T>
  T get(std::size_t offset) const {
    T value;
    std::memcpy(&value, at_ + offset, sizeof(value));
    return value;
  }
  std::uint8_t u8(std::size_t offset) const { return get<std::uint8_t>(offset); }
  std::uint16_t u16(std::size_t offset) const { return get<std::uint16_t>(offset); }
  std::uint32_t u32(std::size_t offset) const { return get<std::uint32_t>(offset); }
  std::uint64_t u64(std::size_t offset) const { return get<std::uint64_t>(offset); }

 private:
  const std::uint8_t* at_;
};

// CUPTI's times are unsigned 64-bit numbers. An impossible duration becomes -1.
void set_times(const Record& record, std::size_t start, std::size_t end, sonde_device_span& span) {
  constexpr std::uint64_t kLatest = INT64_MAX;
  const std::uint64_t start_ns = record.u64(start);
  const std::uint64_t end_ns = record.u64(end);
  span.start_ns = static_cast<std::int64_t>(std::min(start_ns, kLatest));
  const bool is_sensible = start_ns <= end_ns && end_ns <= kLatest;
  span.duration_ns = is_sensible ? static_cast<std::int64_t>(end_ns - start_ns) : -1;
}

// Reads the fields that most records have in common.
template <typename Layout>
void read_work(const Record& record, std::uint8_t kind, sonde_device_span& span) {
  span.kind = kind;
  span.device_type = SONDE_DEVICE_CUDA;
  span.device_index = static_cast<std::int16_t>(record.u32(Layout::kDevice));
  set_times(record, Layout::kStart, Layout::kEnd, span);
  span.context = record.u32(Layout::kContext);
  span.stream = record.u32(Layout::kStream);
  span.correlation = record.u32(Layout::kCorrelation);
}

void read_kernel(const Record& record, Activity& activity) {
  using L = layout::Kernel;
  activity.type = Activity::Type::Kernel;
  read_work<L>(record, SONDE_SPAN_KERNEL, activity.span);
  sonde_kernel& kernel = activity.kernel;
  for (std::size_t i = 0; i < 3; ++i) {
    kernel.grid[i] = record.u32(L::kGrid + 4 * i);
    kernel.block[i] = record.u32(L::kBlock + 4 * i);
    kernel.cluster[i] = static_cast<std::uint16_t>(record.u32(L::kCluster + 4 * i));
  }
  kernel.registers_per_thread = record.u16(L::kRegisters);
  kernel.static_shared_bytes = record.u32(L::kStaticShared);
  kernel.dynamic_shared_bytes = record.u32(L::kDynamicShared);
  kernel.local_bytes_per_thread = record.u32(L::kLocalPerThread);
  kernel.graph_id = record.u32(L::kGraph);
  kernel.graph_node_id = record.u64(L::kGraphNode);
  kernel.priority = INT16_MIN;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the record has it
  activity.kernel_name = reinterpret_cast<const char*>(record.u64(L::kName));
}

template <typename Layout>
void read_copy(const Record& record, Activity& activity) {
  activity.type = Activity::Type::Copy;
  read_work<Layout>(record, SONDE_SPAN_COPY, activity.span);
  sonde_copy& copy = activity.copy;
  copy.bytes = record.u64(Layout::kBytes);
  copy.kind = record.u8(Layout::kCopyKind);
  copy.source_kind = record.u8(Layout::kSourceKind);
  copy.destination_kind = record.u8(Layout::kDestinationKind);
  copy.graph_id = record.u32(Layout::kGraph);
  copy.graph_node_id = record.u64(Layout::kGraphNode);
  copy.source_device = copy.destination_device = -1;
}

void read_peer_copy(const Record& record, Activity& activity) {
  using L = layout::MemcpyPeer;
  read_copy<L>(record, activity);
  sonde_copy& copy = activity.copy;
  copy.source_device = static_cast<std::int16_t>(record.u32(L::kSourceDevice));
  copy.destination_device = static_cast<std::int16_t>(record.u32(L::kDestinationDevice));
  copy.source_context = record.u32(L::kSourceContext);
  copy.destination_context = record.u32(L::kDestinationContext);
}

void read_fill(const Record& record, Activity& activity) {
  using L = layout::Memset;
  constexpr std::uint8_t kMemset = 11;  // the trace's number for this CopyKind
  activity.type = Activity::Type::Fill;
  read_work<L>(record, SONDE_SPAN_FILL, activity.span);
  sonde_copy& copy = activity.copy;
  copy.bytes = record.u64(L::kBytes);
  copy.kind = kMemset;
  copy.destination_kind = static_cast<std::uint8_t>(record.u16(L::kMemoryKind));
  copy.value = record.u32(L::kValue);
  copy.graph_id = record.u32(L::kGraph);
  copy.graph_node_id = record.u64(L::kGraphNode);
  copy.source_device = copy.destination_device = -1;
}

void read_wait(const Record& record, std::uint32_t version, Activity& activity) {
  using L = layout::Synchronization;
  activity.type = Activity::Type::Wait;
  sonde_device_span& span = activity.span;
  span.kind = SONDE_SPAN_SYNC;
  span.device_type = SONDE_DEVICE_CUDA;
  span.device_index = -1;  // not in the record; its context has it
  set_times(record, L::kStart, L::kEnd, span);
  span.context = record.u32(L::kContext);
  span.stream = record.u32(L::kStream);
  span.correlation = record.u32(L::kCorrelation);
  activity.sync.kind = static_cast<std::uint8_t>(record.u32(L::kType));
  activity.sync.event_id = record.u32(L::kEvent);
  activity.sync.wait_on_stream = SONDE_NO_STREAM;
  if (version >= L::kSyncIdSince) activity.event_sync_id = record.u64(L::kSyncId);
}

void read_event(const Record& record, std::uint32_t version, Activity& activity) {
  using L = layout::CudaEvent;
  constexpr std::uint8_t kEventRecord = 5;  // the trace's number for this SyncKind
  activity.type = Activity::Type::EventRecorded;
  sonde_device_span& span = activity.span;
  span.kind = SONDE_SPAN_EVENT;
  span.device_type = SONDE_DEVICE_CUDA;
  span.device_index = -1;
  span.context = record.u32(L::kContext);
  span.stream = record.u32(L::kStream);
  span.correlation = record.u32(L::kCorrelation);
  activity.sync.kind = kEventRecord;
  activity.sync.event_id = record.u32(L::kEvent);
  activity.sync.wait_on_stream = SONDE_NO_STREAM;
  if (version >= L::kSyncIdSince) {
    activity.event_sync_id = record.u64(L::kSyncId);
    span.start_ns = static_cast<std::int64_t>(record.u64(L::kDeviceTime));
  }
}

void read_overhead(const Record& record, Activity& activity) {
  using L = layout::Overhead;
  activity.type = Activity::Type::Overhead;
  sonde_device_span& span = activity.span;
  span.kind = SONDE_SPAN_OVERHEAD;
  span.device_type = SONDE_DEVICE_CUDA;
  span.device_index = -1;
  span.stream = SONDE_NO_STREAM;
  set_times(record, L::kStart, L::kEnd, span);
  activity.overhead_kind = record.u32(L::kOverheadKind);
}

void read_memory(const Record& record, Activity& activity) {
  using L = layout::Memory;
  constexpr std::uint32_t kRelease = 2;
  constexpr std::uint64_t kMost = INT64_MAX;
  activity.type = Activity::Type::Memory;
  activity.span.correlation = record.u32(L::kCorrelation);
  sonde_device_allocation& memory = activity.memory;
  memory.time_ns = static_cast<std::int64_t>(std::min(record.u64(L::kTime), kMost));
  memory.address = record.u64(L::kAddress);
  const auto bytes = static_cast<std::int64_t>(std::min(record.u64(L::kBytes), kMost));
  memory.bytes = record.u32(L::kOperation) == kRelease ? -bytes : bytes;
  memory.memory_kind = static_cast<std::uint8_t>(record.u32(L::kMemoryKind));
  memory.device_type = SONDE_DEVICE_CUDA;
  memory.device_index = static_cast<std::int16_t>(record.u32(L::kDevice));
  memory.correlation = activity.span.correlation;
}

void read_call(const Record& record, std::uint8_t kind, Activity& activity) {
  using L = layout::Api;
  activity.type = Activity::Type::Call;
  activity.span.kind = kind;
  set_times(record, L::kStart, L::kEnd, activity.span);
  activity.span.correlation = record.u32(L::kCorrelation);
  activity.thread = record.u32(L::kThread);
  activity.callback_id = record.u32(L::kCallback);
}

void read_tag(const Record& record, Activity& activity) {
  using L = layout::ExternalCorrelation;
  activity.type = Activity::Type::Tag;
  activity.span.correlation = record.u32(L::kCorrelation);
  activity.external_kind = record.u32(L::kExternalKind);
  activity.external_id = record.u64(L::kExternalId);
}

// How many bytes of a record are read.
std::size_t bytes_read(ActivityKind kind, std::uint32_t version) {
  switch (kind) {
    case ActivityKind::ConcurrentKernel:
      return layout::Kernel::kLeast;
    case ActivityKind::Memcpy:
      return layout::Memcpy::kLeast;
    case ActivityKind::MemcpyPeer:
      return layout::MemcpyPeer::kLeast;
    case ActivityKind::Memset:
      return layout::Memset::kLeast;
    case ActivityKind::Synchronization:
      return version >= layout::Synchronization::kSyncIdSince ? layout::Synchronization::kSyncId + 8
                                                              : layout::Synchronization::kLeast;
    case ActivityKind::CudaEvent:
      return version >= layout::CudaEvent::kSyncIdSince ? layout::CudaEvent::kSyncId + 8
                                                        : layout::CudaEvent::kLeast;
    case ActivityKind::Overhead:
      return layout::Overhead::kLeast;
    case ActivityKind::Runtime:
    case ActivityKind::Driver:
      return layout::Api::kLeast;
    case ActivityKind::Memory:
      return layout::Memory::kLeast;
    case ActivityKind::ExternalCorrelation:
      return layout::ExternalCorrelation::kLeast;
  }
  return 0;
}

// False for kinds that Sonde does not request, and for records that are too short.
bool read(std::span<const std::uint8_t> bytes, std::uint32_t version, Activity& activity) {
  const Record record(bytes.data());
  const auto kind = static_cast<ActivityKind>(record.u32(0));
  if (bytes.size() < bytes_read(kind, version)) return false;
  switch (kind) {
    case ActivityKind::ConcurrentKernel:
      read_kernel(record, activity);
      return true;
    case ActivityKind::Memcpy:
      read_copy<layout::Memcpy>(record, activity);
      return true;
    case ActivityKind::MemcpyPeer:
      read_peer_copy(record, activity);
      return true;
    case ActivityKind::Memset:
      read_fill(record, activity);
      return true;
    case ActivityKind::Synchronization:
      read_wait(record, version, activity);
      return true;
    case ActivityKind::CudaEvent:
      read_event(record, version, activity);
      return true;
    case ActivityKind::Overhead:
      read_overhead(record, activity);
      return true;
    case ActivityKind::Runtime:
      read_call(record, SONDE_SPAN_CUDA_RUNTIME, activity);
      return true;
    case ActivityKind::Driver:
      read_call(record, SONDE_SPAN_CUDA_DRIVER, activity);
      return true;
    case ActivityKind::Memory:
      read_memory(record, activity);
      return true;
    case ActivityKind::ExternalCorrelation:
      read_tag(record, activity);
      return true;
  }
  return false;
}

// Device work is useless without its times.
bool lacks_times(const Activity& activity) {
  const bool is_work = activity.type == Activity::Type::Kernel ||
                       activity.type == Activity::Type::Copy ||
                       activity.type == Activity::Type::Fill;
  return is_work && (activity.span.start_ns <= 0 || activity.span.duration_ns < 0);
}

}  // namespace

ActivityDecoder::ActivityDecoder(std::uint32_t version, const Cupti* cupti)
    : version_(version), cupti_(cupti) {
  if (version >= layout::kFirstUnknown) return;
  for (const layout::RecordBytes& record : layout::kRecordBytes) {  // later entries win
    if (version >= record.since)
      record_bytes_[static_cast<std::size_t>(record.kind)] = record.bytes;
  }
}

// Where the record after the one at `at` begins; 0 if that is unknown.
std::size_t ActivityDecoder::next_record(std::span<const std::uint8_t> buffer,
                                         std::size_t at) const {
  std::uint32_t kind = 0;
  std::memcpy(&kind, buffer.data() + at, sizeof(kind));
  if (const std::size_t bytes = record_bytes(kind); bytes != 0) return at + bytes;
  if (cupti_ == nullptr) return 0;
  // CUPTI does not write here, although its declaration is not const.
  auto* const begin = const_cast<std::uint8_t*>(buffer.data());
  std::uint8_t* record = begin + at;
  if (cupti_->get_next_record(begin, buffer.size(), &record) != 0 || record == nullptr)
    return buffer.size();
  const auto next = static_cast<std::size_t>(record - begin);
  return next > at && next <= buffer.size() ? next : 0;
}

ActivityDecoder::Counts ActivityDecoder::decode(std::span<const std::uint8_t> buffer,
                                                const Visit& visit) const {
  constexpr std::size_t kLeast = 20;  // no record is shorter
  Counts counts;
  std::size_t at = 0;
  while (at + kLeast <= buffer.size()) {
    const std::size_t next = next_record(buffer, at);
    if (next == 0 || next > buffer.size()) break;
    ++counts.records;
    Activity activity;
    if (!read(buffer.subspan(at, next - at), version_, activity)) {
      ++counts.unknown;
    } else if (lacks_times(activity)) {
      ++counts.without_times;
    } else {
      visit(activity);
    }
    at = next;
  }
  counts.bytes_left = buffer.size() - at;
  return counts;
}

}  // namespace sonde::cuda
