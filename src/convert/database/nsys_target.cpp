// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/nsys_target.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "convert/database/cuda_records.h"

namespace sonde {

namespace {

constexpr NumberColumn<DeviceRow> kNsysDeviceNumbers[] = {
    {"id", &DeviceRow::index},
    {"totalMemory", nullptr, &DeviceRow::total_memory_bytes},
    {"computeMajor", &DeviceRow::compute_major},
    {"computeMinor", &DeviceRow::compute_minor},
    {"smCount", &DeviceRow::multiprocessors},
    {"threadsPerWarp", &DeviceRow::warp_size},
    {"maxThreadsPerBlock", &DeviceRow::max_threads_per_block},
    {"maxRegistersPerBlock", &DeviceRow::registers_per_block},
    {"maxRegistersPerSm", &DeviceRow::registers_per_multiprocessor},
    {"maxShmemPerBlock", nullptr, &DeviceRow::shared_bytes_per_block},
    {"maxShmemPerBlockOptin", nullptr, &DeviceRow::shared_bytes_per_block_optin},
    {"maxShmemPerSm", nullptr, &DeviceRow::shared_bytes_per_multiprocessor},
};

}  // namespace

Result<void> NsysTarget::read() {
  SONDE_TRY_VOID(read_clock());
  SONDE_TRY_VOID(read_window());
  SONDE_TRY_VOID(read_processes());
  SONDE_TRY_VOID(read_threads());
  SONDE_TRY_VOID(read_devices());
  SONDE_TRY_VOID(read_host());
  SONDE_TRY_VOID(read_metadata());
  return read_diagnostics();
}

// Times count from the start of the session.
Result<void> NsysTarget::read_clock() {
  return tables_.read("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, 0, [this](SqliteRows& row) {
    constexpr Nanos kLatestStart = Nanos{1} << 61;
    const auto start = row.integer(0);
    if (!start || *start < 0 || *start > kLatestStart) return false;
    tables_.set_base(*start);
    return true;
  });
}

Result<void> NsysTarget::read_window() {
  return tables_.read("ANALYSIS_DETAILS", {"startTime", "stopTime"}, 0, [this](SqliteRows& row) {
    const std::optional<When> when = tables_.when(row, 0);
    if (!when) return false;
    WindowRow window;
    window.start_ns = when->start_ns;
    window.end_ns = when->end_ns;
    builder_.windows().push_back(window);
    last_ns_ = std::max(last_ns_, window.end_ns);
    return true;
  });
}

Result<void> NsysTarget::read_processes() {
  return tables_.read("PROCESSES", {"pid", "name", "globalPid"}, 0, [this](SqliteRows& row) {
    const auto global = row.integer(2);
    const auto pid = global ? std::optional(global_thread(*global).pid) : row.integer(0);
    const std::string_view name = row.text(1);
    if (pid && !name.empty()) process_names_.emplace(*pid, builder_.intern(name));
    return pid.has_value();
  });
}

Result<void> NsysTarget::read_threads() {
  return tables_.read("ThreadNames", {"globalTid", "nameId"}, 0, [this](SqliteRows& row) {
    const auto global = row.integer(0);
    const auto name = row.integer(1);
    if (!global || !name) return false;
    const GlobalThread thread = global_thread(*global);
    thread_names_.try_emplace({thread.pid, thread.tid}, tables_.name(*name));
    return true;
  });
}

// Records number devices as CUDA does, which may differ from the machine's numbers.
Result<std::map<std::int64_t, std::int32_t>> NsysTarget::cuda_numbers() {
  std::map<std::int64_t, std::int32_t> numbers;
  SONDE_TRY_VOID(
      tables_.read("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId"}, 0, [&](SqliteRows& row) {
        const auto cuda = row.integer(1);
        if (!row.integer(0) || !cuda || *cuda < 0 || *cuda > INT32_MAX) return false;
        numbers.emplace(*row.integer(0), static_cast<std::int32_t>(*cuda));
        return true;
      }));
  return numbers;
}

Result<void> NsysTarget::read_devices() {
  SONDE_TRY(const auto numbers, cuda_numbers());
  std::vector<const char*> columns = {"name", "uuid", "clockRate"};
  append_columns(columns, kNsysDeviceNumbers);
  return tables_.read("TARGET_INFO_GPU", columns, 0, [&](SqliteRows& row) {
    DeviceRow device;
    device.type = DeviceType::Cuda;
    fill_numbers(row, 3, kNsysDeviceNumbers, device);
    const auto number = numbers.find(device.index);
    if (number != numbers.end()) device.index = number->second;
    if (const std::string_view name = row.text(0); !name.empty()) {
      device.name = builder_.intern(name);
    }
    if (const std::string_view uuid = row.text(1); !uuid.empty()) {
      device.uuid = builder_.intern(uuid);
    }
    if (const auto hertz = row.integer(2)) device.clock_khz = *hertz / 1000;
    builder_.devices().push_back(device);
    return true;
  });
}

Result<void> NsysTarget::read_host() {
  return tables_.read("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, 0, [this](SqliteRows& row) {
    if (row.text(0) == "Hostname") host_ = builder_.intern(row.text(1));
    return true;
  });
}

void NsysTarget::add_metadata(std::string_view key, std::string_view text) {
  MetadataRow metadata;
  metadata.key = builder_.intern(key);
  metadata.value = builder_.intern(json_string(text));
  builder_.metadata().push_back(metadata);
}

Result<void> NsysTarget::read_metadata() {
  add_metadata("profiler", "Nsight Systems");
  return tables_.read("META_DATA_EXPORT", {"name", "value"}, 0, [this](SqliteRows& row) {
    const std::string key(row.text(0));
    if (key.starts_with("EXPORT_")) add_metadata("nsys_" + key, row.text(1));
    return true;
  });
}

// Warnings and errors of the profiler, including what it lost.
Result<void> NsysTarget::read_diagnostics() {
  constexpr std::int64_t kWarning = 2;
  constexpr std::uint64_t kMostNotes = 100;
  std::uint64_t notes = 0;
  return tables_.read("DIAGNOSTIC_EVENT", {"severity", "text"}, 0, [&](SqliteRows& row) {
    const auto severity = row.integer(0);
    if (!severity || *severity < kWarning || ++notes > kMostNotes) return true;
    builder_.add_ledger(LedgerKind::Note, 1, "Nsight Systems", row.text(1));
    return true;
  });
}

void NsysTarget::name_lines() {
  ProcessTable& processes = builder_.processes();
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto name = process_names_.find(processes.pid[i]);
    if (name != process_names_.end()) processes.name.set(i, name->second);
    if (host_.valid()) processes.host.set(i, host_);
  }
  TrackTable& tracks = builder_.tracks();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    if (tracks.kind[i] != TrackKind::Thread) continue;
    const auto name = thread_names_.find({processes.pid[tracks.process[i]], tracks.id[i]});
    if (name != thread_names_.end()) tracks.name.set(i, name->second);
  }
}

bool NsysTarget::is_description(std::string_view table) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"ENUM_",   "META_DATA_", "TARGET_INFO_",
                                                         "EXPORT_", "ANALYSIS_",  "ProcessStreams"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return table.starts_with(prefix); });
}

}  // namespace sonde
