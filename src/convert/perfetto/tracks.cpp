// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/perfetto/tracks.h"

#include <optional>
#include <protozero/pbf_builder.hpp>

#include "base/json.h"
#include "base/json_string.h"

namespace sonde::detail {

namespace {

constexpr std::uint32_t kDescriptorSequence = 1;  // all others are larger

struct ProcessPart {
  std::int64_t pid = 0;
  std::string name;
  std::string label;
};

struct ThreadPart {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::string name;
};

std::int32_t narrowed(std::int64_t id) {
  return static_cast<std::int32_t>(id);
}

}  // namespace

struct PerfettoTracks::Descriptor {
  std::uint64_t parent = 0;
  std::string name;
  std::optional<ProcessPart> process;
  std::optional<ThreadPart> thread;
  std::optional<std::uint32_t> counter_unit;
};

std::string valid_utf8(std::string_view text) {
  const std::string quoted = json_string(text);
  return decode_json_string(std::string_view(quoted).substr(1, quoted.size() - 2));
}

std::uint64_t PerfettoTracks::add(const Descriptor& descriptor) {
  const std::uint64_t uuid = ++place_.last_uuid;
  protozero::pbf_builder<TraceField> trace(out_);
  protozero::pbf_builder<PacketField> packet(trace, TraceField::Packet);
  packet.add_uint32(PacketField::SequenceId, kDescriptorSequence);
  protozero::pbf_builder<TrackField> track(packet, PacketField::TrackDescriptor);
  track.add_uint64(TrackField::Uuid, uuid);
  if (descriptor.parent != 0) track.add_uint64(TrackField::ParentUuid, descriptor.parent);
  if (!descriptor.name.empty()) track.add_string(TrackField::Name, descriptor.name);
  if (const auto& process = descriptor.process) {
    protozero::pbf_builder<ProcessField> part(track, TrackField::Process);
    part.add_int32(ProcessField::Pid, narrowed(process->pid));
    if (!process->name.empty()) part.add_string(ProcessField::Name, process->name);
    if (!process->label.empty()) part.add_string(ProcessField::Labels, process->label);
  }
  if (const auto& thread = descriptor.thread) {
    protozero::pbf_builder<ThreadField> part(track, TrackField::Thread);
    part.add_int32(ThreadField::Pid, narrowed(thread->pid));
    part.add_int64(ThreadField::Tid, thread->tid);
    if (!thread->name.empty()) part.add_string(ThreadField::Name, thread->name);
  }
  if (descriptor.counter_unit) {
    // A unit of 0 is written too: protozero leaves out empty messages, and without this message the
    // track is not a counter.
    protozero::pbf_builder<CounterField> part(track, TrackField::Counter);
    part.add_uint32(CounterField::Unit, *descriptor.counter_unit);
  }
  return uuid;
}

ProcessId PerfettoTracks::process_of(TrackId track) const {
  return track.valid() ? trace_.tracks().process[track] : ProcessId();
}

std::uint64_t PerfettoTracks::process(ProcessId process) {
  if (!process.valid()) return 0;
  const auto [found, is_new] = processes_.try_emplace(process.value(), 0);
  if (!is_new) return found->second;
  const ProcessTable& table = trace_.processes();
  Descriptor descriptor;
  std::string name = valid_utf8(trace_.string(table.name[process]));
  if (table.rank[process] >= 0) {
    name += (name.empty() ? "rank " : " rank ") + std::to_string(table.rank[process]);
  }
  if (!place_.name.empty())
    name = valid_utf8(place_.name) + ", pid " + std::to_string(table.pid[process]);
  const std::string label = valid_utf8(trace_.string(table.label[process]));
  descriptor.process = ProcessPart{pid_of(process), std::move(name), label};
  return found->second = add(descriptor);
}

// Processes of different hosts may have the same number.
std::int64_t PerfettoTracks::pid_of(ProcessId process) {
  if (place_.name.empty()) return trace_.processes().pid[process];
  const auto [found, is_new] = pids_.try_emplace(process.value(), 0);
  if (is_new) found->second = ++place_.last_pid;
  return found->second;
}

std::uint64_t PerfettoTracks::device(ProcessId host, std::int32_t index) {
  const auto [found, is_new] = devices_.try_emplace({host.value(), index}, 0);
  if (!is_new) return found->second;
  Descriptor descriptor;
  descriptor.parent = process(host);
  descriptor.name = "GPU " + std::to_string(index);
  return found->second = add(descriptor);
}

std::uint64_t PerfettoTracks::add_line(TrackId track) {
  Descriptor descriptor;
  if (!track.valid()) {
    descriptor.name = "no track";
    return add(descriptor);
  }
  const TrackTable& table = trace_.tracks();
  const ProcessId host = table.process[track];
  const std::string name = valid_utf8(trace_.string(table.name[track]));
  const bool on_device = table.device_index[track] >= 0 && table.kind[track] != TrackKind::Thread;
  descriptor.parent = on_device ? device(host, table.device_index[track]) : process(host);
  if (table.kind[track] == TrackKind::Thread && host.valid() && !table.foreign_id[track].valid()) {
    descriptor.thread = ThreadPart{pid_of(host), table.id[track], name};
  } else {
    descriptor.name = name.empty() ? "stream " + std::to_string(table.id[track]) : name;
  }
  return add(descriptor);
}

std::uint64_t PerfettoTracks::line(TrackId track, std::uint32_t lane) {
  const auto known = lines_.find({track.value(), lane});
  if (known != lines_.end()) return known->second;
  std::uint64_t uuid = 0;
  if (lane == 0) {
    uuid = add_line(track);
  } else {
    Descriptor descriptor;
    descriptor.parent = line(track, 0);
    descriptor.name = "overlap";  // viewers draw lines with the same name and parent as one
    uuid = add(descriptor);
  }
  return lines_[{track.value(), lane}] = uuid;
}

std::uint64_t PerfettoTracks::async_line(TrackId track, std::uint32_t lane) {
  const auto [found, is_new] = async_lines_.try_emplace({track.value(), lane}, 0);
  if (!is_new) return found->second;
  Descriptor descriptor;
  descriptor.parent = process(process_of(track));
  descriptor.name = "async";
  return found->second = add(descriptor);
}

std::uint64_t PerfettoTracks::counter(TrackId track, const std::string& name, std::uint32_t unit) {
  const ProcessId host = process_of(track);
  const auto [found, is_new] = counters_.try_emplace({host.value(), name}, 0);
  if (!is_new) return found->second;
  Descriptor descriptor;
  descriptor.parent = process(host);
  descriptor.name = valid_utf8(name);
  descriptor.counter_unit = unit;
  return found->second = add(descriptor);
}

}  // namespace sonde::detail
