// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/read_nvprof.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "convert/database/cuda_records.h"
#include "convert/database/demangle.h"
#include "convert/database/tables.h"

namespace sonde {

namespace {

constexpr const char* kNvprofStrings = "StringTable";
constexpr const char* kMarkers = "CUPTI_ACTIVITY_KIND_MARKER";
constexpr const char* kRuntimeCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view kPrefix = "CUPTI_ACTIVITY_KIND_";

// The parts of a range, or of a marker for a single moment.
struct Marker {
  std::int64_t id = 0;
  std::optional<Nanos> start_ns;
  std::optional<Nanos> end_ns;
  std::int64_t name = 0;
  GlobalThread thread{0, 0};
  bool is_instant = false;
};

// For markers of a thread: four bytes each for the process and the thread.
GlobalThread thread_in(std::span<const std::uint8_t> object) {
  const auto number = [&](std::size_t at) {
    std::int64_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | object[at + i];
    return value;
  };
  return object.size() < 8 ? GlobalThread{0, 0} : GlobalThread{number(0), number(4)};
}

constexpr NumberColumn<DeviceRow> kNvprofDeviceNumbers[] = {
    {"id", &DeviceRow::index},
    {"globalMemorySize", nullptr, &DeviceRow::total_memory_bytes},
    {"computeCapabilityMajor", &DeviceRow::compute_major},
    {"computeCapabilityMinor", &DeviceRow::compute_minor},
    {"numMultiprocessors", &DeviceRow::multiprocessors},
    {"numThreadsPerWarp", &DeviceRow::warp_size},
    {"maxThreadsPerBlock", &DeviceRow::max_threads_per_block},
    {"maxRegistersPerBlock", &DeviceRow::registers_per_block},
    {"maxRegistersPerMultiprocessor", &DeviceRow::registers_per_multiprocessor},
    {"maxSharedMemoryPerBlock", nullptr, &DeviceRow::shared_bytes_per_block},
    {"maxSharedMemoryPerMultiprocessor", nullptr, &DeviceRow::shared_bytes_per_multiprocessor},
    {"coreClockRate", nullptr, &DeviceRow::clock_khz},
};

class NvprofReader {
 public:
  NvprofReader(SqliteDatabase& database, TraceBuilder builder)
      : builder_(std::move(builder)), tables_(database, builder_) {}

  Result<Trace> read() {
    if (!tables_.database().has(kNvprofStrings)) return tables_.database().lacks(kNvprofStrings);
    SONDE_TRY_VOID(read_strings());
    SONDE_TRY_VOID(find_process());
    SONDE_TRY_VOID(read_markers());
    SqliteCuda cuda(tables_, {.pid = pid_});
    add_markers(cuda);
    SONDE_TRY_VOID(read_records(cuda));
    SONDE_TRY_VOID(read_devices());
    tables_.note_unread([](std::string_view table) { return table == "Version"; });
    MetadataRow profiler;
    profiler.key = builder_.intern("profiler");
    profiler.value = builder_.intern(json_string("nvprof"));
    builder_.metadata().push_back(profiler);
    return std::move(builder_).build();
  }

 private:
  Result<void> read_strings() {
    BoundedDemangler demangled;
    return tables_.read(kNvprofStrings, {"_id_", "value"}, 2, [&](SqliteRows& row) {
      const auto id = row.integer(0);
      if (!id) return false;
      tables_.add_name(*id, builder_.intern(demangled(std::string(row.text(1)))));
      return true;
    });
  }

  // Only calls name their process. One database holds one process.
  Result<void> find_process() {
    if (!tables_.database().has(kRuntimeCalls)) return {};
    constexpr std::array kColumns = {"processId"};
    SONDE_TRY(SqliteRows rows, tables_.database().rows(kRuntimeCalls, kColumns));
    if (rows.next()) pid_ = rows.integer(0).value_or(0);
    return {};
  }

  // A range is two rows with one id; the second has no name. PyTorch joins them the same way.
  Result<void> read_markers() {
    std::uint64_t repeated = 0;
    SONDE_TRY_VOID(
        tables_.read(kMarkers, {"id", "timestamp", "name", "flags", "objectKind", "objectId"}, 3,
                     [&](SqliteRows& row) {
                       const std::optional<Nanos> time = tables_.time(row, 1);
                       const auto id = row.integer(0);
                       const auto name = row.integer(2);
                       if (!time || !id || !name) return false;
                       const auto [found, is_new] = marker_at_.try_emplace(*id, markers_.size());
                       if (is_new) markers_.emplace_back().id = *id;
                       if (!take(row, *time, *name, markers_[found->second])) ++repeated;
                       return true;
                     }));
    if (repeated > 0) {
      builder_.add_ledger(LedgerKind::Undecodable, repeated, kMarkers,
                          "markers with the id of an earlier one");
    }
    return {};
  }

  bool take(SqliteRows& row, Nanos time, std::int64_t name, Marker& marker) {
    constexpr std::int64_t kInstantFlag = 1;
    constexpr std::int64_t kThreadObject = 2;
    std::optional<Nanos>& end = name != 0 ? marker.start_ns : marker.end_ns;
    if (end) return false;
    end = time;
    if (name == 0) return true;
    marker.name = name;
    marker.is_instant = (row.integer(3).value_or(0) & kInstantFlag) != 0;
    if (row.integer(4) == kThreadObject) marker.thread = thread_in(row.blob(5));
    return true;
  }

  TrackId track_of(const Marker& marker) {
    const bool is_known = marker.thread.pid != 0 || marker.thread.tid != 0;
    return is_known ? tables_.thread(marker.thread.pid, marker.thread.tid)
                    : tables_.thread(pid_, 0);
  }

  void add_markers(SqliteCuda& cuda) {
    std::uint64_t unfinished = 0;
    std::uint64_t unmatched = 0;
    for (const Marker& marker : markers_) {
      if (marker.is_instant && marker.start_ns) {
        add_instant(marker, *marker.start_ns);
      } else if (!marker.start_ns || (marker.end_ns && *marker.end_ns < *marker.start_ns)) {
        ++unmatched;
      } else if (!marker.end_ns) {
        ++unfinished;
      } else {
        add_range(marker, {*marker.start_ns, *marker.end_ns}, cuda);
      }
    }
    const auto count = [this](LedgerKind kind, std::uint64_t many, std::string_view what) {
      if (many > 0) builder_.add_ledger(kind, many, kMarkers, what);
    };
    count(LedgerKind::Unfinished, unfinished, "ranges without an end; they are left out");
    count(LedgerKind::Unmatched, unmatched, "ends of ranges without a beginning");
  }

  void add_range(const Marker& marker, const When& when, SqliteCuda& cuda) {
    SpanRow span;
    span.start_ns = when.start_ns;
    span.duration_ns = when.duration_ns();
    span.name = tables_.name(marker.name);
    span.track = track_of(marker);
    span.kind = SpanKind::UserAnnotation;
    span.external_id = marker.id;
    builder_.spans().push_back(span);
    cuda.add_range(span.track, when, marker.id);
  }

  void add_instant(const Marker& marker, Nanos time) {
    InstantRow instant;
    instant.time_ns = time;
    instant.track = track_of(marker);
    instant.name = tables_.name(marker.name);
    builder_.instants().push_back(instant);
  }

  Result<void> read_records(SqliteCuda& cuda) {
    SONDE_TRY_VOID(cuda.read_calls(kRuntimeCalls, SpanKind::CudaRuntime));
    SONDE_TRY_VOID(cuda.read_calls("CUPTI_ACTIVITY_KIND_DRIVER", SpanKind::CudaDriver));
    cuda.link_calls(true);
    SONDE_TRY_VOID(cuda.read_kernels("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"));
    SONDE_TRY_VOID(cuda.read_kernels("CUPTI_ACTIVITY_KIND_KERNEL"));
    SONDE_TRY_VOID(cuda.read_copies("CUPTI_ACTIVITY_KIND_MEMCPY"));
    SONDE_TRY_VOID(cuda.read_copies("CUPTI_ACTIVITY_KIND_MEMCPY2"));
    SONDE_TRY_VOID(cuda.read_fills("CUPTI_ACTIVITY_KIND_MEMSET"));
    std::map<std::int64_t, std::int64_t> devices;
    SONDE_TRY_VOID(tables_.read("CUPTI_ACTIVITY_KIND_CONTEXT", {"contextId", "deviceId"}, 2,
                                [&](SqliteRows& row) {
                                  devices[row.integer(0).value_or(-1)] = row.integer(1).value_or(0);
                                  return true;
                                }));
    SONDE_TRY_VOID(cuda.read_syncs("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", devices));
    cuda.finish();
    return {};
  }

  Result<void> read_devices() {
    std::vector<const char*> columns = {"name", "uuid"};
    append_columns(columns, kNvprofDeviceNumbers);
    return tables_.read("CUPTI_ACTIVITY_KIND_DEVICE", columns, 0, [this](SqliteRows& row) {
      DeviceRow device;
      device.process = tables_.process(pid_);
      device.type = DeviceType::Cuda;
      fill_numbers(row, 2, kNvprofDeviceNumbers, device);
      if (const auto name = row.integer(0)) device.name = tables_.name(*name);
      const std::span<const std::uint8_t> uuid = row.blob(1);
      if (uuid.size() == 16) device.uuid = builder_.intern(hexadecimal(uuid));
      builder_.devices().push_back(device);
      return true;
    });
  }

  static std::string hexadecimal(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x", byte);
      text += digits;
    }
    return text;
  }

  TraceBuilder builder_;
  SqliteTables tables_;
  std::int64_t pid_ = 0;
  std::vector<Marker> markers_;
  std::unordered_map<std::int64_t, std::size_t> marker_at_;
};

}  // namespace

bool is_nvprof(const SqliteDatabase& database) {
  if (database.has(kNvprofStrings)) return true;
  // True even if the strings are missing; the message then says so.
  return database.has(kMarkers) && !database.has("StringIds");
}

Result<Trace> read_nvprof(SqliteDatabase& database, TraceBuilder builder) {
  const std::vector<std::string> tables = database.tables();
  const bool has_records = std::any_of(tables.begin(), tables.end(), [](const std::string& table) {
    return table.starts_with(kPrefix);
  });
  if (!has_records) {
    return Failure(ErrorCode::Invalid,
                   database.name() +
                       ": has nvprof's table StringTable, but none of its tables such as "
                       "CUPTI_ACTIVITY_KIND_RUNTIME, _CONCURRENT_KERNEL or _MARKER");
  }
  return NvprofReader(database, std::move(builder)).read();
}

}  // namespace sonde
