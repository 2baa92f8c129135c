// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/known_names.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace sonde {

namespace {

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

std::int64_t step_number(std::string_view name) noexcept {
  if (!name.starts_with(kStepPrefix)) return -1;
  name.remove_prefix(kStepPrefix.size());
  const bool is_plain = name == "0" || (!name.starts_with('0') && !name.starts_with('-'));
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return is_plain && error == std::errc() && end == name.data() + name.size() ? step : -1;
}

bool starts_work(std::string_view call) noexcept {
  if (starts_with_any(call, {"clEnqueueMarker", "clEnqueueBarrier", "clEnqueueWaitForEvents"}))
    return false;
  return launches_graph(call) ||
         starts_with_any(call, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaMemcpy",
                                "cudaMemset", "cuLaunchKernel", "cuLaunchCooperativeKernel",
                                "cuMemcpy", "cuMemset", "hipLaunchKernel",
                                "hipExtModuleLaunchKernel", "hipMemcpy", "hipMemset", "clEnqueue"});
}

bool launches_graph(std::string_view call) noexcept {
  return starts_with_any(call, {"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch"});
}

bool copies_memory(std::string_view call) noexcept {
  return call.find("emcpy") != std::string_view::npos;
}

bool waits_for_device(std::string_view call) noexcept {
  return call.find("ynchronize") != std::string_view::npos || call == "clFinish" ||
         call == "clWaitForEvents";
}

bool communicates_on_host(std::string_view name) noexcept {
  return starts_with_any(name, {"gloo:", "mpi:", "ucc:"});
}

bool waits_on_device(std::string_view work) noexcept {
  return work == "event_wait";
}

bool is_host_collective(std::string_view range) noexcept {
  return starts_with_any(range, {"gloo:", "mpi:", "ucc:"});
}

bool has_kineto_arrow_to_wait(std::string_view call) noexcept {
  return starts_with_any(call,
                         {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaStreamWaitEvent"});
}

}  // namespace sonde
