// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Data that several parts of a report need, computed once.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analyse/patterns/source_locations.h"
#include "analyse/simulate/program.h"
#include "analyse/time/coverage.h"
#include "analyse/time/device_work.h"
#include "analyse/time/host_calls.h"
#include "analyse/time/steady.h"
#include "sonde/analyse/copies.h"
#include "sonde/analyse/device_time.h"
#include "sonde/analyse/memory.h"
#include "sonde/analyse/steps.h"
#include "sonde/trace.h"

namespace sonde::detail {

// All devices of one process together.
struct ProcessDevices {
  Coverage busy;
  Coverage copies;
};

// Must not outlive the trace. Not thread-safe: it computes values when they are first needed.
class ReportData {
 public:
  explicit ReportData(const Trace& whole);

  const Trace& trace;
  const HostCalls calls;
  const std::vector<DeviceWork> work;
  MemoryProfile memory;
  // What findings are about; report() fills it in before they are looked for.
  SteadyPart steady;
  // Of that, what findings about the host's own time are about: not the steps that take much longer
  // than the others, which have a finding of their own.
  Coverage usual;
  // When data that left the device and came back was on the host, which has a finding of its own.
  Coverage round_trips;
  // What the program marks as loading data; it has a finding of its own.
  std::vector<SpanId> loading;

  std::string source_location(SpanId span) const { return locations_.of(span); }

  const Program& program() const { return program_of(); }
  // Host time counts only this much: a profiler took the rest.
  void correct_host(double left, Nanos from_ns, Nanos to_ns) {
    program_of().correct_host(left, from_ns, to_ns);
  }
  // How long the program takes as simulated with nothing changed.
  Nanos unchanged_ns() const;
  // When a thread was within operators or calls of a device.
  const Coverage& in_operators(TrackId thread) const;
  // Calls `visit` with each thread of the process.
  void for_threads(ProcessId process, const std::function<void(TrackId)>& visit) const;
  // When any thread of the process was inside operators or device calls.
  Stretches operators_of(ProcessId process) const;
  const Coverage& all_operators(ProcessId process) const;
  // When the process was within collectives that run on threads of the host.
  const Coverage& collectives_of(ProcessId process) const;
  // All spans of such collectives.
  const std::vector<SpanId>& host_collectives() const { return host_collectives_; }
  // Null if the process has no devices.
  const ProcessDevices* devices_of(ProcessId process) const;
  // All devices except the host; the host if there is no other.
  std::vector<const DeviceMemory*> memory_devices() const;
  // The most bytes on one device in the step that begins at that time; -1 if unknown.
  std::int64_t peak_bytes(ProcessId process, Nanos step_begin_ns) const;

 private:
  void join_devices();
  void find_peaks();
  void find_collectives();
  void find_operators();

  std::unordered_map<std::uint32_t, ProcessDevices> devices_;
  std::map<std::pair<std::uint32_t, Nanos>, std::int64_t> peaks_;
  std::vector<SpanId> host_collectives_;
  std::unordered_map<std::uint32_t, Coverage> collectives_;
  Coverage none_;
  Program& program_of() const;
  mutable SourceLocations locations_;
  mutable std::unique_ptr<Program> program_;
  mutable Nanos unchanged_ns_ = -1;
  std::unordered_map<std::uint32_t, Coverage> in_operators_;           // by track
  mutable std::unordered_map<std::uint32_t, Coverage> all_operators_;  // by process
};

std::vector<DeviceTime> device_times(const ReportData& data);
StepTimes step_times(const ReportData& data);

}  // namespace sonde::detail
