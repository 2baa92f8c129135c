// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report_data.h"

#include <algorithm>

#include "base/run_sort.h"
#include "sonde/analyse/memory_report.h"

namespace sonde::detail {

ReportData::ReportData(const Trace& whole)
    : trace(whole), calls(whole), work(device_work(whole)), memory(memory_profile(whole)) {
  join_devices();
  find_peaks();
}

void ReportData::join_devices() {
  std::unordered_map<std::uint32_t, std::vector<Work>> by_process;
  for (const DeviceWork& device : work) {
    std::vector<Work>& all = by_process[device.process.value()];
    all.insert(all.end(), device.work.begin(), device.work.end());
  }
  for (auto& [process, all] : by_process) {
    run_sort(all, [](const Work& a, const Work& b) { return a.begin_ns < b.begin_ns; });
    ProcessDevices& devices = devices_[process];
    for (const Work& one : all) {
      devices.busy.add(one.begin_ns, one.end_ns);
      if (trace.spans().kind[one.span] != SpanKind::Kernel)
        devices.copies.add(one.begin_ns, one.end_ns);
    }
  }
}

// The host's memory counts only where no other device has any.
void ReportData::find_peaks() {
  const bool only_host =
      std::all_of(memory.devices.begin(), memory.devices.end(),
                  [](const DeviceMemory& device) { return device.device.type == DeviceType::Cpu; });
  for (const DeviceMemory& device : memory.devices) {
    if (device.device.type == DeviceType::Cpu && !only_host) continue;
    for (const StepMemory& step : memory_by_step(memory, device)) {
      const auto [found, is_new] =
          peaks_.try_emplace({device.process.value(), step.start_ns}, step.peak_bytes);
      if (!is_new) found->second = std::max(found->second, step.peak_bytes);
    }
  }
}

const Coverage& ReportData::in_operators(TrackId thread) const {
  const auto [found, is_new] = in_operators_.try_emplace(thread.value());
  if (!is_new) return found->second;
  for (const SpanId span : trace.track_spans(thread)) {
    const SpanKind kind = trace.spans().kind[span];
    if (kind != SpanKind::CpuOp && !is_device_call(kind)) continue;
    found->second.add(trace.spans().start_ns[span], trace.end_ns(span));
  }
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
