// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/report_data.h"

#include <algorithm>

#include "sonde/analyse/memory_report.h"
#include "trace/known_names.h"

namespace sonde::detail {

ReportData::ReportData(const Trace& whole)
    : trace(whole),
      calls(whole),
      work(device_work(whole)),
      memory(memory_profile(whole)),
      locations_(trace) {
  join_devices();
  find_peaks();
  find_collectives();
}

Program& ReportData::program_of() const {
  if (program_ == nullptr) program_ = std::make_unique<Program>(trace, calls);
  return *program_;
}

Nanos ReportData::unchanged_ns() const {
  if (unchanged_ns_ < 0) unchanged_ns_ = program().length_ns(Changes(program()));
  return unchanged_ns_;
}

void ReportData::join_devices() {
  struct OfProcess {
    Stretches busy;
    Stretches copies;
  };
  std::unordered_map<std::uint32_t, OfProcess> by_process;
  for (const DeviceWork& device : work) {
    OfProcess& all = by_process[device.process.value()];
    for (const Work& one : device.work) {
      all.busy.add(one.begin_ns, one.end_ns);
      if (is_copy(trace.spans().kind[one.span])) all.copies.add(one.begin_ns, one.end_ns);
    }
  }
  for (auto& [process, all] : by_process)
    devices_[process] = {all.busy.united(), all.copies.united()};
}

std::vector<const DeviceMemory*> ReportData::memory_devices() const {
  std::vector<const DeviceMemory*> hosts;
  std::vector<const DeviceMemory*> others;
  for (const DeviceMemory& device : memory.devices)
    (device.device.type == DeviceType::Cpu ? hosts : others).push_back(&device);
  return others.empty() ? hosts : others;
}

void ReportData::find_peaks() {
  for (const DeviceMemory* const device : memory_devices()) {
    for (const StepMemory& step : memory_by_step(memory, *device)) {
      const auto [found, is_new] =
          peaks_.try_emplace({device->process.value(), step.start_ns}, step.peak_bytes);
      if (!is_new) found->second = std::max(found->second, step.peak_bytes);
    }
  }
}

void ReportData::find_collectives() {
  std::vector<bool> by_name(trace.strings().size());
  for (std::size_t i = 0; i < by_name.size(); ++i)
    by_name[i] = communicates_on_host(trace.string(StringId(i)));
  if (std::find(by_name.begin(), by_name.end(), true) == by_name.end()) return;
  std::unordered_map<std::uint32_t, Stretches> by_process;
  for (const SpanId span : trace.all_spans()) {
    const StringId name = trace.spans().name[span];
    const TrackId track = trace.spans().track[span];
    if (!name.valid() || !by_name[name.index()] || !track.valid()) continue;
    if (trace.tracks().kind[track] != TrackKind::Thread) continue;
    host_collectives_.push_back(span);
    by_process[trace.tracks().process[track].value()].add(trace.spans().start_ns[span],
                                                          trace.end_ns(span));
  }
  for (auto& [process, all] : by_process) collectives_[process] = all.united();
}

const Coverage& ReportData::collectives_of(ProcessId process) const {
  const auto found = collectives_.find(process.value());
  return found == collectives_.end() ? none_ : found->second;
}

const Coverage& ReportData::in_operators(TrackId thread) const {
  const auto [found, is_new] = in_operators_.try_emplace(thread.value());
  if (!is_new) return found->second;
  for (const SpanId span : trace.track_spans(thread)) {
    const SpanKind kind = trace.spans().kind[span];
    if (kind != SpanKind::CpuOp && !is_call(kind)) continue;
    found->second.add(trace.spans().start_ns[span], trace.end_ns(span));
  }
  return found->second;
}

void ReportData::for_threads(ProcessId process, const std::function<void(TrackId)>& visit) const {
  const TrackTable& tracks = trace.tracks();
  for (std::size_t row = 0; row < tracks.size(); ++row)
    if (tracks.kind[row] == TrackKind::Thread && tracks.process[row] == process)
      visit(TrackId(row));
}

Stretches ReportData::operators_of(ProcessId process) const {
  Stretches all;
  for_threads(process, [&](TrackId thread) { all.add(in_operators(thread)); });
  return all;
}

const Coverage& ReportData::all_operators(ProcessId process) const {
  const auto [found, is_new] = all_operators_.try_emplace(process.value());
  if (is_new) found->second = operators_of(process).united();
  return found->second;
}

const ProcessDevices* ReportData::devices_of(ProcessId process) const {
  const auto found = devices_.find(process.value());
  return found == devices_.end() ? nullptr : &found->second;
}

std::int64_t ReportData::peak_bytes(ProcessId process, Nanos step_begin_ns) const {
  const auto found = peaks_.find({process.value(), step_begin_ns});
  return found == peaks_.end() ? -1 : found->second;
}

}  // namespace sonde::detail
