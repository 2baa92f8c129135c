// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/report_data.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"
#include "sonde/analyse/memory_report.h"
#include "trace/known_names.h"

namespace sonde::detail {

ReportData::ReportData(const Trace& whole)
    : trace(whole), calls(whole), work(device_work(whole)), locations_(trace) {
  constexpr std::size_t kFewSpans = 65536;  // for which a thread is not worth starting
  parallel_for(
      2,
      [this](std::size_t task) {
        if (task == 0) {
          memory = memory_profile(trace);
          find_peaks();
        } else {
          join_devices();
          find_collectives();
          program_of();
          find_operators();
        }
      },
      trace.spans().size() < kFewSpans ? 1 : 0);
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

void ReportData::find_operators() {
  const SpanTable& spans = trace.spans();
  // Collectives are none, even if they are recorded as operators.
  std::vector<bool> communicates(trace.strings().size());
  for (const SpanId span : host_collectives_) communicates[spans.name[span].index()] = true;
  const auto is_collective = [&](SpanId span) {
    const StringId name = spans.name[span];
    return name.valid() && communicates[name.index()];
  };
  constexpr std::size_t kAtOnce = 1024;
  std::array<SpanKind, kAtOnce> kind{};
  std::array<Nanos, kAtOnce> start_ns{};
  std::array<Nanos, kAtOnce> duration_ns{};
  for (std::size_t row = 0; row <= trace.tracks().size(); ++row) {
    const TrackId track = row < trace.tracks().size() ? TrackId(row) : TrackId();
    const IdRange<SpanId> on_track = trace.track_spans(track);
    Coverage& covered = in_operators_[track.value()];
    covered.reserve(on_track.size());
    for (std::size_t at = 0; at < on_track.size(); at += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, on_track.size() - at);
      const std::size_t first = on_track[at].index();
      spans.kind.read(first, count, kind.data());
      spans.start_ns.read(first, count, start_ns.data());
      spans.duration_ns.read(first, count, duration_ns.data());
      for (std::size_t i = 0; i < count; ++i) {
        if (kind[i] != SpanKind::CpuOp && !is_call(kind[i])) continue;
        if (!host_collectives_.empty() && is_collective(on_track[at + i])) continue;
        covered.add(start_ns[i], start_ns[i] + duration_ns[i]);
      }
    }
    if (covered.empty()) covered = {};
  }
}

const Coverage& ReportData::in_operators(TrackId thread) const {
  const auto found = in_operators_.find(thread.value());
  return found == in_operators_.end() ? none_ : found->second;
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
  // Most processes call operators on one thread.
  const Coverage* only = nullptr;
  std::size_t threads = 0;
  for_threads(process, [&](TrackId thread) {
    const Coverage& one = in_operators(thread);
    if (one.empty()) return;
    only = &one;
    ++threads;
  });
  if (threads == 0) return none_;
  if (threads == 1) return *only;
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
