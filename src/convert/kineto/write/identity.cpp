// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/identity.h"

#include <limits>

namespace sonde {

namespace {

// The distance between the numbers that are tried when one is taken.
constexpr std::int64_t kPidStep = 1'000'000'000;
constexpr std::int64_t kDeviceStep = 100'000;
constexpr std::int64_t kLaneStep = 1'000'000;

// `wanted`, or the first free number after it in steps of `step`.
template <typename IsFree>
std::int64_t first_free(std::int64_t wanted, std::int64_t step, const IsFree& is_free) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  while (!is_free(wanted)) wanted = wanted > kMax - step ? std::int64_t{1} : wanted + step;
  return wanted;
}

ProcessId host_of(ProcessId process) {
  return process.valid() ? process : ProcessId(0);
}

// Kineto lists sixteen devices whether they exist or not.
bool is_real(const Trace& trace, const WrittenDevice& device) {
  return !device.row.valid() || trace.devices().name[device.row].valid();
}

bool is_device_track(const Trace& trace, std::size_t track) {
  const TrackKind kind = trace.tracks().kind[track];
  return (kind == TrackKind::Stream || kind == TrackKind::Device) &&
         trace.tracks().device_index[track] >= 0;
}

// Whether anything has a time but no track.
bool has_trackless(const Trace& trace) {
  const auto has_any = [](const Column<TrackId>& tracks) {
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      if (!tracks[i].valid()) return true;
    }
    return false;
  };
  return !trace.track_spans(TrackId()).empty() || has_any(trace.instants().track) ||
         has_any(trace.counters().track) || has_any(trace.allocations().track);
}

}  // namespace

KinetoIdentity::KinetoIdentity(const Trace& trace, const JsonStrings& strings,
                               const std::vector<std::uint32_t>& lanes) {
  find_devices(trace);
  number_processes(trace, strings);
  number_tracks(trace, strings, lanes);
}

WrittenDevice& KinetoIdentity::device_of(const Trace& trace, ProcessId process,
                                         std::int32_t index) {
  const ProcessId host = trace.processes().empty() ? ProcessId() : host_of(process);
  const auto [found, is_new] = device_at_.try_emplace({host.value(), index}, devices_.size());
  if (is_new) devices_.push_back({host, index, DeviceId(), index});
  return devices_[found->second];
}

void KinetoIdentity::find_devices(const Trace& trace) {
  for (std::size_t i = 0; i < trace.devices().size(); ++i) {
    if (trace.devices().index[i] < 0) continue;
    WrittenDevice& device = device_of(trace, trace.devices().process[i], trace.devices().index[i]);
    if (!device.row.valid()) device.row = DeviceId(i);
  }
  std::set<std::size_t> used;
  for (std::size_t track = 0; track < trace.tracks().size(); ++track) {
    if (!is_device_track(trace, track)) continue;
    const WrittenDevice& device =
        device_of(trace, trace.tracks().process[track], trace.tracks().device_index[track]);
    used.insert(static_cast<std::size_t>(&device - devices_.data()));
  }
  // A device that is only a label is left out if a process has its number.
  std::set<std::int64_t> hosts;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    if (!trace.processes().foreign_id[i].valid()) hosts.insert(trace.processes().pid[i]);
  }
  std::vector<WrittenDevice> kept;
  device_at_.clear();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const WrittenDevice& device = devices_[i];
    const bool is_used = used.count(i) != 0 || is_real(trace, device);
    if (!is_used && hosts.count(device.index) != 0) continue;
    device_at_[{device.process.value(), device.index}] = kept.size();
    kept.push_back(device);
  }
  devices_ = std::move(kept);
}

void KinetoIdentity::number_processes(const Trace& trace, const JsonStrings& strings) {
  std::set<std::int64_t> taken;
  const auto take = [&taken](std::int64_t wanted, std::int64_t step) {
    const auto is_free = [&taken](std::int64_t pid) { return taken.count(pid) == 0; };
    const std::int64_t pid = first_free(wanted, step, is_free);
    taken.insert(pid);
    return pid;
  };
  for (WrittenDevice& device : devices_) device.pid = take(device.index, kDeviceStep);
  std::string scratch;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    const StringId foreign = trace.processes().foreign_id[i];
    process_pids_.push_back(foreign.valid()
                                ? std::string(strings.value(foreign, scratch))
                                : std::to_string(take(trace.processes().pid[i], kPidStep)));
  }
}

std::string KinetoIdentity::pid_of_track(const Trace& trace, std::size_t track) const {
  if (track < trace.tracks().size()) {
    const ProcessId process = trace.tracks().process[track];
    if (is_device_track(trace, track)) {
      const ProcessId host = trace.processes().empty() ? ProcessId() : host_of(process);
      const auto found = device_at_.find({host.value(), trace.tracks().device_index[track]});
      return std::to_string(devices_[found->second].pid);
    }
    if (process.valid()) return process_pids_[process.index()];
  }
  return process_pids_.empty() ? "0" : process_pids_[0];
}

void KinetoIdentity::number_tracks(const Trace& trace, const JsonStrings& strings,
                                   const std::vector<std::uint32_t>& lanes) {
  const std::size_t tracks = trace.tracks().size();
  std::string scratch;
  // Returns the line's number: `wanted` or the next free one. A line with a foreign id keeps
  // `wanted`.
  const auto add_line = [&](std::size_t track, std::int64_t wanted, std::int64_t step) {
    Line line;
    line.pid = pid_of_track(trace, track);
    const auto is_free = [&](std::int64_t tid) {
      return taken_.count({line.pid, std::to_string(tid)}) == 0;
    };
    const StringId foreign =
        track < tracks && lines_[track].empty() ? trace.tracks().foreign_id[track] : StringId();
    if (!foreign.valid()) wanted = first_free(wanted, step, is_free);
    line.tid =
        foreign.valid() ? std::string(strings.value(foreign, scratch)) : std::to_string(wanted);
    taken_.insert({line.pid, line.tid});
    line.both = "\"pid\": " + line.pid + ", \"tid\": " + line.tid;
    lines_[track].push_back(std::move(line));
    return wanted;
  };
  lines_.resize(tracks + 1);
  std::vector<std::int64_t> numbers(tracks + 1);
  for (std::size_t track = 0; track < tracks; ++track) {
    numbers[track] = add_line(track, trace.tracks().id[track], kLaneStep);
  }
  if (has_trackless(trace)) numbers[tracks] = add_line(tracks, 0, 1);
  for (std::size_t track = 0; track <= tracks; ++track) {
    for (std::uint32_t lane = 1; lane < lanes[track]; ++lane) {
      std::int64_t wanted = 0;
      if (__builtin_add_overflow(numbers[track], lane * kLaneStep, &wanted)) wanted = lane;
      add_line(track, wanted, 1);
    }
  }
}

std::string KinetoIdentity::free_tid(const std::string& pid) const {
  const auto is_free = [&](std::int64_t tid) {
    return taken_.count({pid, std::to_string(tid)}) == 0;
  };
  return std::to_string(first_free(0, 1, is_free));
}

}  // namespace sonde
