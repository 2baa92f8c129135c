// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/launch_flows.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace sonde {

namespace {

bool is_call(SpanKind kind) {
  constexpr std::array kCalls = {SpanKind::CudaRuntime,        SpanKind::CudaDriver,
                                 SpanKind::XpuRuntime,         SpanKind::MtiaRuntime,
                                 SpanKind::PrivateUse1Runtime, SpanKind::PrivateUse1Driver};
  return std::find(kCalls.begin(), kCalls.end(), kind) != kCalls.end();
}

bool is_device_work(SpanKind kind) {
  constexpr std::array kWork = {SpanKind::Kernel, SpanKind::GpuMemcpy, SpanKind::GpuMemset,
                                SpanKind::CudaSync};
  return std::find(kWork.begin(), kWork.end(), kind) != kWork.end();
}

// By how a name begins: versions and variants follow.
bool launches_work(std::string_view call) {
  constexpr std::array<std::string_view, 13> kLaunches = {"cudaLaunchKernel",
                                                          "cudaLaunchCooperativeKernel",
                                                          "cudaGraphLaunch",
                                                          "cudaStreamSynchronize",
                                                          "cudaDeviceSynchronize",
                                                          "cudaStreamWaitEvent",
                                                          "cudaMemcpy",
                                                          "cudaMemset",
                                                          "cuLaunchKernel",
                                                          "hipLaunchKernel",
                                                          "hipExtModuleLaunchKernel",
                                                          "hipMemcpy",
                                                          "hipMemset"};
  return std::any_of(kLaunches.begin(), kLaunches.end(), [call](std::string_view launch) {
    return call.substr(0, launch.size()) == launch;
  });
}

struct LaunchKey {
  std::uint32_t process;
  std::int64_t correlation;
  friend bool operator==(const LaunchKey&, const LaunchKey&) = default;
};

struct LaunchHash {
  std::size_t operator()(const LaunchKey& key) const noexcept {
    return static_cast<std::size_t>(
        static_cast<std::uint64_t>(key.correlation) * 0x9e3779b97f4a7c15 + key.process);
  }
};

using Launches = std::unordered_map<LaunchKey, SpanId, LaunchHash>;

class LaunchFlows {
 public:
  explicit LaunchFlows(const Trace& trace) : trace_(trace) {}

  FlowTable find() const {
    FlowTable flows;
    const Launches launches = find_launches();
    for (const SpanId span : trace_.all_spans()) {
      if (trace_.spans().correlation[span] == 0) continue;
      if (!is_device_work(trace_.spans().kind[span])) continue;
      const auto launch = launches.find(key_of(span));
      if (launch == launches.end()) continue;
      FlowRow row;
      row.id = launch->first.correlation;
      row.kind = FlowKind::CpuToGpu;
      row.from_span = launch->second;
      row.to_span = span;
      flows.push_back(row);
    }
    return flows;
  }

 private:
  LaunchKey key_of(SpanId span) const {
    const TrackId track = trace_.spans().track[span];
    const ProcessId process = track.valid() ? trace_.tracks().process[track] : ProcessId();
    return {process.value(), trace_.spans().correlation[span]};
  }

  Launches find_launches() const {
    Launches launches;
    const SpanTable& spans = trace_.spans();
    for (const SpanId span : trace_.all_spans()) {
      if (spans.correlation[span] == 0 || !is_call(spans.kind[span])) continue;
      // Calls of other devices have a number only if they launch something.
      const bool is_cuda =
          spans.kind[span] == SpanKind::CudaRuntime || spans.kind[span] == SpanKind::CudaDriver;
      if (!is_cuda || launches_work(trace_.name(span))) {
        launches.try_emplace(key_of(span), span);
      }
    }
    return launches;
  }

  const Trace& trace_;
};

}  // namespace

FlowTable launch_flows(const Trace& trace) {
  if (!trace.spans().correlation.materialised()) return FlowTable();
  return LaunchFlows(trace).find();
}

}  // namespace sonde
