// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/cuda_records.h"

#include <algorithm>
#include <string>

#include "convert/database/cuda_call_names.h"

namespace sonde {

namespace {

// The first columns of all device work.
const std::vector<const char*> kWorkColumns = {"start",     "end",      "globalPid",    "deviceId",
                                               "contextId", "streamId", "correlationId"};
constexpr std::size_t kPlace = 2;

constexpr NumberColumn<KernelRow> kKernelNumbers[] = {
    {"contextId", nullptr, &KernelRow::context},
    {"gridX", &KernelRow::grid_x},
    {"gridY", &KernelRow::grid_y},
    {"gridZ", &KernelRow::grid_z},
    {"blockX", &KernelRow::block_x},
    {"blockY", &KernelRow::block_y},
    {"blockZ", &KernelRow::block_z},
    {"clusterX", &KernelRow::cluster_x},
    {"clusterY", &KernelRow::cluster_y},
    {"clusterZ", &KernelRow::cluster_z},
    {"registersPerThread", &KernelRow::registers_per_thread},
    {"staticSharedMemory", nullptr, &KernelRow::static_shared_bytes},
    {"dynamicSharedMemory", nullptr, &KernelRow::dynamic_shared_bytes},
    {"localMemoryPerThread", nullptr, &KernelRow::local_bytes_per_thread},
    {"graphId", nullptr, &KernelRow::graph_id},
    {"graphNodeId", nullptr, &KernelRow::graph_node_id},
};

constexpr NumberColumn<CopyRow> kCopyNumbers[] = {
    {"contextId", nullptr, &CopyRow::context},
    {"bytes", nullptr, &CopyRow::bytes},
    {"value", nullptr, &CopyRow::value},
    {"srcDeviceId", &CopyRow::source_device},
    {"dstDeviceId", &CopyRow::destination_device},
    {"srcContextId", nullptr, &CopyRow::source_context},
    {"dstContextId", nullptr, &CopyRow::destination_context},
    {"graphNodeId", nullptr, &CopyRow::graph_node_id},
};

// "cudaLaunchKernel_v7000" is version 7000 of cudaLaunchKernel; "cuMemcpyHtoD_v2" is a name.
std::string_view without_version(std::string_view name) {
  const std::size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || name.size() - mark - 2 < 4) return name;
  const std::string_view digits = name.substr(mark + 2);
  const bool is_number = digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? name.substr(0, mark) : name;
}

// CUPTI's numbers, and those that Nsight Systems adds for memory that migrates by itself.
CopyKind copy_kind(std::optional<std::int64_t> number) {
  switch (number.value_or(0)) {
    case 11:
      return CopyKind::HtoD;
    case 12:
      return CopyKind::DtoH;
    case 13:
      return CopyKind::DtoD;
    default:
      break;
  }
  const bool is_known = number && *number > 0 && *number <= static_cast<int>(CopyKind::PtoP);
  return is_known ? static_cast<CopyKind>(*number) : CopyKind::Unknown;
}

SyncKind sync_kind(std::int64_t number) {
  const bool is_known = number > 0 && number <= static_cast<int>(SyncKind::Context);
  return is_known ? static_cast<SyncKind>(number) : SyncKind::Unknown;
}

std::vector<const char*> work_columns(std::initializer_list<const char*> more) {
  std::vector<const char*> columns = kWorkColumns;
  columns.insert(columns.end(), more);
  return columns;
}

SpanRow span_of(const When& when, SpanKind kind) {
  SpanRow span;
  span.start_ns = when.start_ns;
  span.duration_ns = when.duration_ns();
  span.kind = kind;
  return span;
}

}  // namespace

// Eight bits for the hardware, eight for the virtual machine, then 24 each for process and thread.
GlobalThread global_thread(std::int64_t serialised) {
  const auto bits = static_cast<std::uint64_t>(serialised);
  return {static_cast<std::int64_t>(bits >> 24 & 0xffffff),
          static_cast<std::int64_t>(bits & 0xffffff)};
}

StringId SqliteCuda::call_name(const SqliteRows& row, SpanKind kind) {
  constexpr std::size_t kNameId = 8;
  constexpr std::size_t kCbid = 5;
  TraceBuilder& builder = tables_.builder();
  if (const auto name = row.integer(kNameId)) {
    const StringId id = tables_.name(*name);
    const std::string_view text = builder.strings()[id];
    const std::string_view bare = without_version(text);
    return bare.size() == text.size() ? id : builder.intern(std::string(bare));
  }
  return builder.intern(cuda_call_name(kind, row.integer(kCbid).value_or(-1)));
}

Result<void> SqliteCuda::read_calls(std::string_view table, SpanKind kind) {
  constexpr std::int64_t kDriverClass = 1;
  return tables_.read(
      table,
      {"start", "end", "correlationId", "processId", "threadId", "cbid", "returnValue", "globalTid",
       "nameId", "eventClass"},
      2, [&](SqliteRows& row) {
        const std::optional<When> when = tables_.when(row, 0);
        if (!when) return false;
        GlobalThread thread{row.integer(3).value_or(dialect_.pid), row.integer(4).value_or(0)};
        if (const auto serialised = row.integer(7)) thread = global_thread(*serialised);
        const bool is_driver = row.integer(9).value_or(0) == kDriverClass;
        SpanRow span = span_of(*when, is_driver ? SpanKind::CudaDriver : kind);
        span.name = call_name(row, span.kind);
        span.track = tables_.thread(thread.pid, thread.tid);
        span.correlation = row.integer(2).value_or(0);
        ApiCallRow call;
        call.span = tables_.builder().spans().push_back(span);
        call.callback_id = row.integer(5).value_or(-1);
        call.return_value = static_cast<std::int32_t>(row.integer(6).value_or(0));
        tables_.builder().api_calls().push_back(call);
        calls_.push_back({tables_.process(thread.pid).value(), span.correlation, call.span});
        call_times_.push_back({when->start_ns, when->end_ns, span.track.value()});
        return true;
      });
}

void SqliteCuda::add_range(TrackId thread, const When& when, std::int64_t id) {
  ranges_.push_back({when.start_ns, when.end_ns, thread.value()});
  range_ids_.push_back(id);
}

void SqliteCuda::link_calls(bool across_threads) {
  std::vector<std::uint32_t> found = innermost_ranges(ranges_, call_times_);
  if (across_threads) {
    const auto as_one_line = [](std::vector<TimeRange> stretches) {
      for (TimeRange& stretch : stretches) stretch.line = 0;
      return stretches;
    };
    const std::vector<std::uint32_t> anywhere =
        innermost_ranges(as_one_line(ranges_), as_one_line(call_times_));
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == kNoRange) found[i] = anywhere[i];
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == kNoRange) continue;
    tables_.builder().spans().external_id.set(calls_[i].span, range_ids_[found[i]]);
  }
  call_times_.clear();
  // Of several calls with one correlation the first counts: it is the one that the program made.
  std::stable_sort(calls_.begin(), calls_.end());
}

const SqliteCuda::Call* SqliteCuda::call_of(ProcessId process, std::int64_t correlation) const {
  if (correlation == 0) return nullptr;
  const Call wanted{process.value(), correlation, SpanId()};
  const auto found = std::lower_bound(calls_.begin(), calls_.end(), wanted);
  return found == calls_.end() || wanted < *found ? nullptr : &*found;
}

TrackId SqliteCuda::thread_of(std::int64_t pid, std::int64_t correlation) const {
  const Call* call = call_of(tables_.process(pid), correlation);
  return call == nullptr ? TrackId() : tables_.builder().spans().track[call->span];
}

void SqliteCuda::place(const SqliteRows& row, std::size_t first, SpanRow& span) {
  std::int64_t pid = dialect_.pid;
  if (const auto serialised = row.integer(first)) pid = global_thread(*serialised).pid;
  span.track =
      tables_.stream(pid, row.integer(first + 1).value_or(0), row.integer(first + 2).value_or(-1),
                     row.integer(first + 3).value_or(SqliteTables::kNoStream));
  span.correlation = row.integer(first + 4).value_or(0);
  const Call* call = call_of(tables_.process(pid), span.correlation);
  if (call == nullptr) {
    ++uncorrelated_;
    return;
  }
  span.external_id = tables_.builder().spans().external_id[call->span];
}

Result<void> SqliteCuda::read_kernels(std::string_view table) {
  std::vector<const char*> columns = work_columns({"demangledName", "shortName", "name"});
  const std::size_t numbers = columns.size();
  append_columns(columns, kKernelNumbers);
  return tables_.read(table, columns, 2, [&](SqliteRows& row) {
    const std::optional<When> when = tables_.when(row, 0);
    std::optional<std::int64_t> name;
    for (std::size_t i = numbers; i-- > kWorkColumns.size();) {
      if (row.integer(i)) name = row.integer(i);
    }
    if (!when || !name) return false;
    SpanRow span = span_of(*when, SpanKind::Kernel);
    span.name = tables_.name(*name);
    place(row, kPlace, span);
    KernelRow kernel;
    fill_numbers(row, numbers, kKernelNumbers, kernel);
    if (kernel.static_shared_bytes >= 0 && kernel.dynamic_shared_bytes >= 0 &&
        kernel.static_shared_bytes <= INT32_MAX && kernel.dynamic_shared_bytes <= INT32_MAX) {
      kernel.shared_bytes = kernel.static_shared_bytes + kernel.dynamic_shared_bytes;
    }
    kernel.span = tables_.builder().spans().push_back(span);
    tables_.builder().kernels().push_back(kernel);
    return true;
  });
}

Result<void> SqliteCuda::read_graphs(std::string_view table) {
  const std::size_t more = kWorkColumns.size();
  return tables_.read(table, work_columns({"graphId"}), 2, [&](SqliteRows& row) {
    const std::optional<When> when = tables_.when(row, 0);
    if (!when) return false;
    SpanRow span = span_of(*when, SpanKind::Kernel);
    place(row, kPlace, span);
    KernelRow kernel;
    kernel.graph_id = row.integer(more).value_or(-1);
    span.name = tables_.builder().intern("CUDA graph " + std::to_string(kernel.graph_id));
    kernel.span = tables_.builder().spans().push_back(span);
    tables_.builder().kernels().push_back(kernel);
    return true;
  });
}

MemoryKind SqliteCuda::memory_kind(std::optional<std::int64_t> number) const {
  constexpr auto kFirst = static_cast<std::int64_t>(MemoryKind::Pageable);
  constexpr auto kLast = static_cast<std::int64_t>(MemoryKind::ManagedStatic);
  const std::int64_t first = dialect_.pageable_kind;
  if (!number || *number < first || *number > first + kLast - kFirst) return MemoryKind::Unknown;
  return static_cast<MemoryKind>(*number - first + kFirst);
}

StringId SqliteCuda::copy_name(const CopyRow& copy) {
  StringId& name = copy_names_[{copy.kind, copy.source_kind, copy.destination_kind}];
  if (name.valid()) return name;
  const std::string to(to_string(copy.destination_kind));
  if (copy.kind == CopyKind::Memset) {
    name = tables_.builder().intern("Memset (" + to + ")");
  } else {
    name = tables_.builder().intern("Memcpy " + std::string(to_string(copy.kind)) + " (" +
                                    std::string(to_string(copy.source_kind)) + " -> " + to + ")");
  }
  return name;
}

void SqliteCuda::add_copy(SqliteRows& row, SpanRow span, CopyRow copy) {
  span.name = copy_name(copy);
  place(row, kPlace, span);
  copy.span = tables_.builder().spans().push_back(span);
  tables_.builder().copies().push_back(copy);
}

Result<void> SqliteCuda::read_copies(std::string_view table) {
  std::vector<const char*> columns = work_columns({"copyKind", "srcKind", "dstKind"});
  const std::size_t numbers = columns.size();
  append_columns(columns, kCopyNumbers);
  return tables_.read(table, columns, 2, [&](SqliteRows& row) {
    const std::optional<When> when = tables_.when(row, 0);
    if (!when) return false;
    CopyRow copy;
    fill_numbers(row, numbers, kCopyNumbers, copy);
    copy.kind = copy_kind(row.integer(numbers - 3));
    copy.source_kind = memory_kind(row.integer(numbers - 2));
    copy.destination_kind = memory_kind(row.integer(numbers - 1));
    add_copy(row, span_of(*when, SpanKind::GpuMemcpy), copy);
    return true;
  });
}

Result<void> SqliteCuda::read_fills(std::string_view table) {
  std::vector<const char*> columns = work_columns({"memKind", "memoryKind"});
  const std::size_t numbers = columns.size();
  append_columns(columns, kCopyNumbers);
  return tables_.read(table, columns, 2, [&](SqliteRows& row) {
    const std::optional<When> when = tables_.when(row, 0);
    if (!when) return false;
    CopyRow copy;
    fill_numbers(row, numbers, kCopyNumbers, copy);
    copy.kind = CopyKind::Memset;
    const auto memory = row.integer(numbers - 2);
    copy.destination_kind = memory_kind(memory ? memory : row.integer(numbers - 1));
    add_copy(row, span_of(*when, SpanKind::GpuMemset), copy);
    return true;
  });
}

Result<void> SqliteCuda::read_syncs(std::string_view table,
                                    const std::map<std::int64_t, std::int64_t>& devices) {
  const std::size_t more = kWorkColumns.size();
  const std::vector<const char*> columns =
      work_columns({"syncType", "type", "eventId", "cudaEventId"});
  return tables_.read(table, columns, 2, [&](SqliteRows& row) {
    const std::optional<When> when = tables_.when(row, 0);
    if (!when) return false;
    const auto either = [&row](std::size_t a, std::size_t b) {
      const std::optional<std::int64_t> first = row.integer(a);
      return first ? first : row.integer(b);
    };
    SyncRow sync;
    sync.kind = sync_kind(either(more, more + 1).value_or(0));
    sync.event_id = either(more + 2, more + 3).value_or(-1);
    sync.context = row.integer(kPlace + 2).value_or(-1);
    sync.stream = row.integer(kPlace + 3).value_or(-1);
    if (sync.event_id == SqliteTables::kNoStream) sync.event_id = -1;
    SpanRow span = span_of(*when, SpanKind::CudaSync);
    span.name = tables_.builder().intern(to_string(sync.kind));
    place(row, kPlace, span);
    const auto device = devices.find(sync.context);
    if (!row.integer(kPlace + 1) && device != devices.end()) {
      span.track = tables_.stream(dialect_.pid, device->second, sync.context, sync.stream);
    }
    sync.span = tables_.builder().spans().push_back(span);
    tables_.builder().syncs().push_back(sync);
    return true;
  });
}

void SqliteCuda::finish() {
  if (uncorrelated_ == 0) return;
  tables_.builder().add_ledger(LedgerKind::Uncorrelated, uncorrelated_, tables_.database().name(),
                               "device work whose call is not in the database");
}

}  // namespace sonde
