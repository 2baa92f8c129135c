// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/device_time.h"

#include <algorithm>

#include "analyse/report/report_data.h"

namespace sonde {
namespace {

using detail::Coverage;
using detail::DeviceWork;
using detail::Work;

// HTA's limit for a device's own delay between two kernels.
constexpr Nanos kLongestKernelWaitNs = 30'000;

class DeviceTimes {
 public:
  explicit DeviceTimes(const detail::ReportData& data)
      : data_(data), trace_(data.trace), communication_(data.trace) {}

  DeviceTime of(const DeviceWork& device) {
    DeviceTime out;
    out.process = device.process;
    out.device = device.device;
    out.begin_ns = device.work.front().begin_ns;
    run(device, out);
    out.busy_ns = out.extent_ns() - out.idle_ns;
    return out;
  }

 private:
  void run(const DeviceWork& device, DeviceTime& out) {
    Coverage compute;
    Coverage communication;
    Coverage memory;
    Coverage other;
    out.end_ns = out.begin_ns;
    for (const Work& work : device.work) {
      if (work.begin_ns > out.end_ns) add_gap(work, out);
      out.end_ns = std::max(out.end_ns, work.end_ns);
      const SpanClass sort = span_class(trace_.spans().kind[work.span]);
      if (sort == SpanClass::Copy) {
        take(work, out.memory, memory);
      } else if (sort != SpanClass::Kernel) {
        take(work, out.other, other);
      } else if (communication_.is(work.span)) {
        take(work, out.communication, communication);
      } else {
        take(work, out.compute, compute);
      }
    }
    out.compute.union_ns = compute.total_ns();
    out.communication.union_ns = communication.total_ns();
    out.memory.union_ns = memory.total_ns();
    out.other.union_ns = other.total_ns();
    out.communication_hidden_ns = overlap_ns(communication, compute);
    out.memory_hidden_ns = overlap_ns(memory, compute);
  }

  static void take(const Work& work, WorkTime& time, Coverage& coverage) {
    ++time.count;
    coverage.add(work.begin_ns, work.end_ns);
  }

  void add_gap(const Work& next, DeviceTime& out) {
    DeviceGap gap;
    gap.begin_ns = out.end_ns;
    gap.end_ns = next.begin_ns;
    gap.after = next.span;
    explain(gap, out.process);
    out.idle_ns += gap.length_ns();
    out.idle_by_cause[static_cast<std::size_t>(gap.cause)] += gap.length_ns();
    for (std::size_t doing = 0; doing < kHostDoings; ++doing)
      out.host_wait_by_doing[doing] += gap.host_doing[doing];
    out.gaps.push_back(gap);
  }

  void explain(DeviceGap& gap, ProcessId process) {
    const SpanId launch = trace_.spans().launch[gap.after];
    if (!launch.valid()) return;
    const Nanos launched_ns = trace_.spans().start_ns[launch];
    if (launched_ns <= gap.begin_ns) {
      if (gap.length_ns() < kLongestKernelWaitNs) gap.cause = IdleCause::KernelWait;
      return;
    }
    gap.cause = IdleCause::HostWait;
    divide(gap, process, launch);
    gap.host = static_cast<HostDoing>(
        std::max_element(gap.host_doing.begin(), gap.host_doing.end()) - gap.host_doing.begin());
  }

  // By what the host did: until its wait returned, then in operators or outside.
  void divide(DeviceGap& gap, ProcessId process, SpanId launch) {
    const auto part = [&gap](HostDoing doing) -> Nanos& {
      return gap.host_doing[static_cast<std::size_t>(doing)];
    };
    gap.wait = data_.calls.wait_at(process, gap.begin_ns);
    const Coverage& ranks = data_.collectives_of(process);
    const Nanos communicated_ns = ranks.within_ns(gap.begin_ns, gap.end_ns);
    if (communicated_ns >= gap.length_ns() - communicated_ns) {
      part(HostDoing::Communicated) = gap.length_ns();
      return;
    }
    Nanos from_ns = gap.begin_ns;
    if (gap.wait.valid()) from_ns = std::clamp(trace_.end_ns(gap.wait), gap.begin_ns, gap.end_ns);
    const Nanos launched_ns =
        std::clamp(trace_.spans().start_ns[launch], from_ns, std::max(from_ns, gap.end_ns));
    const Coverage& operators = data_.in_operators(trace_.spans().track[launch]);
    const Nanos inside_ns = operators.within_ns(from_ns, launched_ns);
    part(HostDoing::HadWaited) = from_ns - gap.begin_ns;
    part(HostDoing::InOperators) = inside_ns + gap.end_ns - launched_ns;  // launching is one
    part(HostDoing::OutsideOperators) = launched_ns - from_ns - inside_ns;
  }

  const detail::ReportData& data_;
  const Trace& trace_;
  detail::Communication communication_;
};

}  // namespace

std::string_view to_string(IdleCause cause) noexcept {
  switch (cause) {
    case IdleCause::HostWait:
      return "host wait";
    case IdleCause::KernelWait:
      return "kernel wait";
    case IdleCause::Other:
      break;
  }
  return "other";
}

std::vector<DeviceTime> device_times(const Trace& trace) {
  return detail::device_times(detail::ReportData(trace));
}

namespace detail {

std::vector<DeviceTime> device_times(const ReportData& data) {
  std::vector<DeviceTime> out;
  out.reserve(data.work.size());
  DeviceTimes times(data);
  for (const DeviceWork& device : data.work) out.push_back(times.of(device));
  return out;
}

}  // namespace detail
}  // namespace sonde
