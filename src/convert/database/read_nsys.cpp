// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/read_nsys.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "convert/database/cuda_records.h"
#include "convert/database/nsys_target.h"
#include "convert/database/tables.h"

namespace sonde {

namespace {

constexpr const char* kNsysStrings = "StringIds";
constexpr const char* kRanges = "NVTX_EVENTS";

// A report has at least one of these tables.
constexpr std::array<std::string_view, 7> kEventTables = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                                          "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                          "CUPTI_ACTIVITY_KIND_MEMSET",
                                                          "CUPTI_ACTIVITY_KIND_RUNTIME",
                                                          "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                                          "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                                          "NVTX_EVENTS"};

// Kinds of rows in NVTX_EVENTS.
enum class Nvtx : std::int64_t {
  Mark = 34,
  PushPop = 59,
  StartEnd = 60,
  TextPushPop = 70,  // from another program's text file of ranges
  TextStartEnd = 71,
  DomainCreate = 75,
};

bool is_start_end(std::int64_t type) {
  return type == static_cast<std::int64_t>(Nvtx::StartEnd) ||
         type == static_cast<std::int64_t>(Nvtx::TextStartEnd);
}

bool is_range(std::int64_t type) {
  return type == static_cast<std::int64_t>(Nvtx::PushPop) ||
         type == static_cast<std::int64_t>(Nvtx::TextPushPop) || is_start_end(type);
}

class NsysReader {
 public:
  NsysReader(SqliteDatabase& database, TraceBuilder builder)
      : builder_(std::move(builder)), tables_(database, builder_), target_(tables_) {}

  Result<Trace> read() {
    if (!tables_.database().has(kNsysStrings)) return tables_.database().lacks(kNsysStrings);
    SONDE_TRY_VOID(read_strings());
    SONDE_TRY_VOID(target_.read());
    SqliteCuda cuda(tables_, {.pageable_kind = 0});
    SONDE_TRY_VOID(read_domains());
    SONDE_TRY_VOID(read_ranges(cuda));
    SONDE_TRY_VOID(read_records(cuda));
    SONDE_TRY_VOID(read_memory(cuda));
    cuda.finish();
    target_.name_lines();
    tables_.note_unread(NsysTarget::is_description);
    return std::move(builder_).build();
  }

 private:
  Result<void> read_strings() {
    return tables_.read(kNsysStrings, {"id", "value"}, 2, [this](SqliteRows& row) {
      const auto id = row.integer(0);
      if (id) tables_.add_name(*id, builder_.intern(row.text(1)));
      return id.has_value();
    });
  }

  Result<void> read_domains() {
    return tables_.read(kRanges, {"eventType", "domainId", "text", "textId"}, 0,
                        [this](SqliteRows& row) {
                          if (row.integer(0) != static_cast<std::int64_t>(Nvtx::DomainCreate)) {
                            return true;
                          }
                          const StringId name = text_of(row, 2, 3);
                          if (name.valid()) domains_.emplace(row.integer(1).value_or(0), name);
                          return true;
                        });
  }

  // A row has either the text or its number.
  StringId text_of(SqliteRows& row, std::size_t text, std::size_t number) {
    const std::string_view own = row.text(text);
    if (!own.empty()) return builder_.intern(own);
    const auto id = row.integer(number);
    return id ? tables_.name(*id) : StringId();
  }

  Result<void> read_ranges(SqliteCuda& cuda) {
    SONDE_TRY_VOID(tables_.read(
        kRanges,
        {"start", "end", "eventType", "text", "textId", "globalTid", "endGlobalTid", "domainId"}, 1,
        [&](SqliteRows& row) {
          // Exports of the first versions have no type; all their rows are ranges.
          const std::int64_t type =
              row.integer(2).value_or(static_cast<std::int64_t>(Nvtx::PushPop));
          if (type == static_cast<std::int64_t>(Nvtx::Mark)) return add_mark(row);
          return !is_range(type) || add_range(row, is_start_end(type), cuda);
        }));
    if (unfinished_ > 0) {
      builder_.add_ledger(LedgerKind::Unfinished, unfinished_, kRanges,
                          "ranges that were open when recording ended");
    }
    return {};
  }

  TrackId thread_at(const SqliteRows& row, std::size_t column) {
    const GlobalThread thread = global_thread(row.integer(column).value_or(0));
    return tables_.thread(thread.pid, thread.tid);
  }

  bool add_mark(SqliteRows& row) {
    const std::optional<Nanos> time = tables_.time(row, 0);
    if (!time) return false;
    InstantRow instant;
    instant.time_ns = *time;
    instant.name = text_of(row, 3, 4);
    instant.track = thread_at(row, 5);
    builder_.instants().push_back(instant);
    return true;
  }

  // Push and pop nest on a thread. Start and end may be on two threads and overlap freely.
  bool add_range(SqliteRows& row, bool is_free, SqliteCuda& cuda) {
    const std::optional<Nanos> start = tables_.time(row, 0);
    const std::optional<Nanos> end = tables_.time(row, 1);
    if (!start || (!row.is_null(1) && !end) || (end && *end < *start)) return false;
    const When when{*start, end.value_or(std::max(*start, target_.last_ns()))};
    SpanRow span;
    span.start_ns = when.start_ns;
    span.duration_ns = when.duration_ns();
    span.name = text_of(row, 3, 4);
    span.track = thread_at(row, 5);
    span.kind = SpanKind::UserAnnotation;
    span.external_id = ++last_range_;
    unsigned flags = end ? 0 : SpanFlags::kUnfinished;
    if (!end) ++unfinished_;
    if (is_free) {
      flags |= SpanFlags::kAsync;
      if (row.integer(6).value_or(0) != 0) span.end_track = thread_at(row, 6);
      if (span.end_track == span.track) span.end_track = TrackId();
    }
    span.flags = static_cast<std::uint16_t>(flags);
    const SpanId id = builder_.spans().push_back(span);
    const auto domain = domains_.find(row.integer(7).value_or(0));
    if (domain != domains_.end()) {
      tables_.keep_extra(id, "domain",
                         json_string(std::string(builder_.strings()[domain->second])));
    }
    if (!is_free) cuda.add_range(span.track, when, span.external_id);
    return true;
  }

  Result<void> read_records(SqliteCuda& cuda) {
    SONDE_TRY_VOID(cuda.read_calls("CUPTI_ACTIVITY_KIND_RUNTIME", SpanKind::CudaRuntime));
    cuda.link_calls(false);
    SONDE_TRY_VOID(cuda.read_kernels("CUPTI_ACTIVITY_KIND_KERNEL"));
    SONDE_TRY_VOID(cuda.read_graphs("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"));
    SONDE_TRY_VOID(cuda.read_copies("CUPTI_ACTIVITY_KIND_MEMCPY"));
    SONDE_TRY_VOID(cuda.read_fills("CUPTI_ACTIVITY_KIND_MEMSET"));
    return cuda.read_syncs("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {});
  }

  Result<void> read_memory(const SqliteCuda& cuda) {
    constexpr std::int64_t kDeallocation = 1;
    constexpr std::int64_t kDeviceMemory = 2;
    return tables_.read(
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        {"start", "bytes", "address", "memoryOperationType", "globalPid", "deviceId",
         "correlationId", "memKind"},
        2, [&](SqliteRows& row) {
          const std::optional<Nanos> time = tables_.time(row, 0);
          const auto bytes = row.integer(1);
          if (!time || !bytes || *bytes < 0) return false;
          AllocationRow allocation;
          allocation.time_ns = *time;
          allocation.bytes = row.integer(3) == kDeallocation ? -*bytes : *bytes;
          allocation.address = static_cast<std::uint64_t>(row.integer(2).value_or(0));
          const bool on_device = row.integer(7).value_or(kDeviceMemory) >= kDeviceMemory;
          allocation.device_type = on_device ? DeviceType::Cuda : DeviceType::Cpu;
          const std::int64_t device = row.integer(5).value_or(-1);
          if (on_device && device >= 0 && device <= INT32_MAX) {
            allocation.device_index = static_cast<std::int32_t>(device);
          }
          allocation.track = cuda.thread_of(global_thread(row.integer(4).value_or(0)).pid,
                                            row.integer(6).value_or(0));
          builder_.allocations().push_back(allocation);
          return true;
        });
  }

  TraceBuilder builder_;
  SqliteTables tables_;
  NsysTarget target_;
  std::map<std::int64_t, StringId> domains_;
  std::int64_t last_range_ = 0;
  std::uint64_t unfinished_ = 0;
};

std::string listed(const std::array<std::string_view, 7>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool has_events(const SqliteDatabase& database) {
  return std::any_of(kEventTables.begin(), kEventTables.end(),
                     [&](std::string_view table) { return database.has(table); });
}

}  // namespace

bool is_nsys(const SqliteDatabase& database) {
  return database.has(kNsysStrings) || has_events(database);
}

Result<Trace> read_nsys(SqliteDatabase& database, TraceBuilder builder) {
  if (!has_events(database)) {
    return Failure(
        ErrorCode::Invalid,
        database.name() +
            ": is a Nsight Systems database without GPU work: it has none of the tables " +
            listed(kEventTables));
  }
  return NsysReader(database, std::move(builder)).read();
}

}  // namespace sonde
