// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/track_reader.h"

#include <optional>
#include <string>

#include "base/json_string.h"
#include "convert/json/json_number.h"
#include "convert/json/json_text.h"

namespace sonde {

namespace {

constexpr std::int64_t kFirstDeviceSortIndex = 5'000'000;  // Kineto's

std::optional<std::int32_t> device_index(std::string_view pid) {
  const std::optional<std::int64_t> number = to_integer(pid);
  if (!number || *number != static_cast<std::int32_t>(*number)) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

// The type in the label that Kineto gives a device, such as "GPU 0" or "MTIA 9"; none for other
// labels.
std::optional<DeviceType> labelled_device(std::string_view raw) {
  if (!is_quoted(raw)) return std::nullopt;
  const std::string_view label = unquoted(raw);
  const std::size_t space = label.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::string name(label.substr(0, space));
  if (name == "GPU") return DeviceType::Cuda;
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::optional<DeviceType> type = parse_device_type(name);
  return type == DeviceType::Cpu ? std::nullopt : type;
}

}  // namespace

bool TrackReader::Pid::is_device() const {
  if (has_cpu_label) return false;
  return has_device_label || (has_device_events && !has_host_events);
}

TrackReader::TrackReader(TraceBuilder& builder, const std::vector<Staged>& stretches)
    : builder_(builder), stretches_(stretches) {}

void TrackReader::add_devices(std::string_view device_properties) {
  for_each_element(device_properties, [this](std::string_view raw) {
    DeviceRow row;
    row.type = DeviceType::Cuda;
    std::vector<std::pair<std::string_view, std::string_view>> others;
    const bool whole = for_each_member(raw, [&](std::string_view key, std::string_view value) {
      bool is_set = false;
      DevicePropertiesColumns{row}.visit([&](DevicePropertiesKey property, auto& column) {
        if (text_of(property) == key) is_set = set_property(value, column);
      });
      if (!is_set) others.emplace_back(key, value);
      return true;
    });
    if (!whole || devices_.count(row.index) != 0) {
      keep(TableKind::None, 0, "deviceProperties", raw);
      return true;
    }
    const DeviceId id = builder_.devices().push_back(row);
    if (row.index >= 0) devices_[row.index] = id;
    for (const auto& [key, value] : others) keep(TableKind::Devices, id.value(), key, value);
    return true;
  });
}

bool TrackReader::set_property(std::string_view raw, StringId& out) {
  if (!is_quoted(raw)) return false;
  out = builder_.intern(decode_json_string(unquoted(raw)));
  return true;
}

DeviceId TrackReader::device(std::int32_t index) {
  const auto [found, is_new] = devices_.try_emplace(index, DeviceId());
  if (is_new) {
    DeviceRow row;
    row.type = DeviceType::Cuda;
    row.index = index;
    found->second = builder_.devices().push_back(row);
  }
  return found->second;
}

void TrackReader::read(const std::vector<std::vector<bool>>& hidden_metas,
                       const std::vector<std::vector<bool>>& hidden_tracks) {
  hidden_metas_ = &hidden_metas;
  hidden_tracks_ = &hidden_tracks;
  collect_pids();
  add_processes();
  add_tracks();
  for (std::size_t s = 0; s < stretches_.size(); ++s) {
    for (std::size_t i = 0; i < stretches_[s].metas.size(); ++i) {
      if (hidden_metas[s][i]) continue;
      const StagedMeta& meta = stretches_[s].metas[i];
      apply(stretches_[s].tracks[meta.track], tracks_[s][meta.track], meta);
    }
  }
  DeviceTable& devices = builder_.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) devices.process.set(i, host_);
}

void TrackReader::collect_pids() {
  for (const Staged& stretch : stretches_) {
    for (const StagedTrack& track : stretch.tracks) {
      Pid& pid = pids_[track.pid];
      pid.has_device_events |= track.on_device;
      pid.has_host_events |= track.has_events && !track.on_device;
    }
    for (const StagedMeta& meta : stretch.metas) {
      const StagedTrack& track = stretch.tracks[meta.track];
      if (meta.kind == MetaKind::ProcessLabels) {
        Pid& pid = pids_[track.pid];
        const bool is_device = labelled_device(meta.value) && device_index(track.pid);
        pid.has_device_label |= is_device;
        pid.has_cpu_label |= !is_device;
      } else if (meta.kind == MetaKind::ThreadLaneOf) {
        lanes_[{track.pid, track.tid}] = meta.value;
      }
    }
  }
}

bool TrackReader::is_device(const StagedTrack& track) const {
  if (!device_index(track.pid)) return false;
  return track.on_device || pids_.at(track.pid).is_device();
}

void TrackReader::add_process(std::string_view pid) {
  const auto [found, is_new] = processes_.try_emplace(pid, ProcessId());
  if (!is_new) return;
  ProcessRow row;
  if (const std::optional<std::int64_t> number = to_integer(pid)) {
    row.pid = *number;
  } else {
    row.foreign_id = builder_.intern(valid_json(pid));
  }
  found->second = builder_.processes().push_back(row);
  const bool may_record = !row.foreign_id.valid() && row.pid >= 0;
  if (may_record && !host_.valid()) host_ = found->second;
}

void TrackReader::add_processes() {
  for (std::size_t s = 0; s < stretches_.size(); ++s) {
    for (std::size_t i = 0; i < stretches_[s].tracks.size(); ++i) {
      const StagedTrack& track = stretches_[s].tracks[i];
      if (!(*hidden_tracks_)[s][i] && !is_device(track)) add_process(track.pid);
    }
  }
  if (host_.valid()) return;
  if (builder_.processes().empty()) builder_.processes().push_back(ProcessRow());
  host_ = ProcessId(0);
}

std::string_view TrackReader::lane_of(std::string_view pid, std::string_view tid) const {
  const auto found = lanes_.find({pid, tid});
  return found == lanes_.end() ? tid : found->second;
}

void TrackReader::add_tracks() {
  for (std::size_t s = 0; s < stretches_.size(); ++s) {
    std::vector<TrackId>& of_stretch = tracks_.emplace_back();
    for (std::size_t i = 0; i < stretches_[s].tracks.size(); ++i) {
      const StagedTrack& track = stretches_[s].tracks[i];
      const bool is_line = track.is_line && !(*hidden_tracks_)[s][i];
      of_stretch.push_back(is_line ? add_track(track) : TrackId());
    }
  }
}

TrackId TrackReader::add_track(const StagedTrack& staged) {
  const bool on_device = is_device(staged);
  const std::string_view tid = lane_of(staged.pid, staged.tid);
  const LineKey key((on_device ? "device " : "host ") + std::string(staged.pid), tid);
  const auto [found, is_new] = lines_.try_emplace(key, TrackId());
  if (!is_new) return found->second;
  TrackRow row;
  row.process = on_device ? host_ : processes_.at(staged.pid);
  if (on_device) {
    row.kind = TrackKind::Stream;
    row.device_index = device_index(staged.pid).value_or(-1);
  }
  if (const std::optional<std::int64_t> number = to_integer(tid)) {
    row.id = *number;
  } else {
    row.foreign_id = builder_.intern(valid_json(tid));
  }
  return found->second = builder_.tracks().push_back(row);
}

TrackId TrackReader::thread_beside(TrackId track, std::string_view tid) const {
  const ProcessId process = builder_.tracks().process[track];
  for (const auto& [pid, id] : processes_) {
    if (id != process) continue;
    const auto found = lines_.find({"host " + std::string(pid), std::string(tid)});
    return found == lines_.end() ? TrackId() : found->second;
  }
  return {};
}

void TrackReader::keep(TableKind table, std::uint32_t row, std::string_view key,
                       std::string_view raw) {
  ExtraRow extra;
  extra.of_table = table;
  if (table != TableKind::None) extra.of_row = row;
  extra.key = builder_.intern(decode_json_string(key));
  extra.value = builder_.intern(valid_json(raw));
  builder_.extras().push_back(extra);
}

void TrackReader::set_text(Column<StringId>& column, std::uint32_t row, TableKind table,
                           std::string_view key, std::string_view raw) {
  const StringId text = builder_.intern(decode_json_string(unquoted(raw)));
  if (!column[row].valid()) {
    column.set(row, text);
  } else if (column[row] != text) {
    keep(table, row, key, raw);
  }
}

void TrackReader::set_number(Column<std::int64_t>& column, std::uint32_t row, TableKind table,
                             std::string_view key, std::string_view raw) {
  const std::int64_t number = to_integer(raw).value_or(-1);
  if (column[row] == column.null_value()) {
    column.set(row, number);
  } else if (column[row] != number) {
    keep(table, row, key, raw);
  }
}

void TrackReader::apply(const StagedTrack& staged, TrackId track, const StagedMeta& meta) {
  const bool is_lane = lanes_.count({staged.pid, staged.tid}) != 0;
  switch (meta.kind) {
    case MetaKind::ThreadName:
      if (is_lane) return;
      return set_text(builder_.tracks().name, track.value(), TableKind::Tracks,
                      meta_row(meta.kind).name, meta.value);
    case MetaKind::ThreadSortIndex:
      if (is_lane) return;
      return set_number(builder_.tracks().sort_index, track.value(), TableKind::Tracks,
                        meta_row(meta.kind).name, meta.value);
    case MetaKind::ThreadLaneOf:
      return;
    default:
      break;
  }
  const Pid& pid = pids_.at(staged.pid);
  const int before = process_metas_[{staged.pid, meta.kind}]++;
  bool of_device = pid.is_device();
  if (pid.has_cpu_label && pid.has_device_label) {
    // A process and a device have the same number. Kineto writes the process's rows first.
    of_device = meta.kind == MetaKind::ProcessLabels ? labelled_device(meta.value).has_value()
                : meta.kind == MetaKind::ProcessSortIndex
                    ? to_integer(meta.value).value_or(0) >= kFirstDeviceSortIndex
                    : before > 0;
  }
  if (of_device && device_index(staged.pid)) {
    name_device(staged.pid, meta);
  } else {
    name_process(staged.pid, meta);
  }
}

void TrackReader::name_process(std::string_view pid, const StagedMeta& meta) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  const std::uint32_t row = found->second.value();
  const std::string_view key = meta_row(meta.kind).name;
  ProcessTable& processes = builder_.processes();
  if (meta.kind == MetaKind::ProcessSortIndex) {
    set_number(processes.sort_index, row, TableKind::Processes, key, meta.value);
  } else {
    set_text(meta.kind == MetaKind::ProcessName ? processes.name : processes.label, row,
             TableKind::Processes, key, meta.value);
  }
}

// Kineto gives every device the name of the process. Only a different name is kept.
void TrackReader::name_device(std::string_view pid, const StagedMeta& meta) {
  const std::uint32_t row = device(device_index(pid).value_or(-1)).value();
  const std::string_view key = meta_row(meta.kind).name;
  DeviceTable& devices = builder_.devices();
  if (meta.kind == MetaKind::ProcessSortIndex) {
    set_number(devices.sort_index, row, TableKind::Devices, key, meta.value);
  } else if (meta.kind == MetaKind::ProcessLabels) {
    set_text(devices.label, row, TableKind::Devices, key, meta.value);
    devices.type.set(row, labelled_device(meta.value).value_or(devices.type[row]));
  } else if (builder_.strings()[builder_.processes().name[host_]] !=
             decode_json_string(unquoted(meta.value))) {
    keep(TableKind::Devices, row, key, meta.value);
  }
}

}  // namespace sonde
