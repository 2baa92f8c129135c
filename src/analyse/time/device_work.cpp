// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/device_work.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/run_sort.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

bool communicates_by_name(std::string_view name) {
  for (const std::string_view begin : {"nccl", "rccl", "hccl", "oneccl"})
    if (name.starts_with(begin)) return true;
  return name.find("ncclKernel") != std::string_view::npos ||
         name.find("ncclDevKernel") != std::string_view::npos;
}

}  // namespace

bool keeps_busy(const Trace& trace, SpanId span) {
  const SpanKind kind = trace.spans().kind[span];
  if (!is_device_work(kind)) return false;
  return span_class(kind) != SpanClass::Work || !waits_on_device(trace.name(span));
}

std::vector<DeviceWork> device_work(const Trace& trace) {
  const SpanTable& spans = trace.spans();
  const TrackTable& tracks = trace.tracks();
  std::map<std::pair<std::uint32_t, std::int32_t>, DeviceWork> devices;
  for (std::size_t row = 0; row < tracks.size(); ++row) {
    const TrackId track(row);
    if (tracks.kind[track] == TrackKind::Thread) continue;
    DeviceWork* device = nullptr;
    for (const SpanId span : trace.track_spans(track)) {
      if (!keeps_busy(trace, span)) continue;
      if (device == nullptr) {
        device = &devices[{tracks.process[track].value(), tracks.device_index[track]}];
        device->process = tracks.process[track];
        device->device = tracks.device_index[track];
      }
      device->work.push_back({spans.start_ns[span], trace.end_ns(span), span});
    }
  }
  std::vector<DeviceWork> all;
  all.reserve(devices.size());
  for (auto& [key, device] : devices) {
    run_sort(device.work, [](const Work& a, const Work& b) { return a.begin_ns < b.begin_ns; });
    all.push_back(std::move(device));
  }
  return all;
}

Communication::Communication(const Trace& trace) : trace_(trace) {
  by_name_.assign(trace.strings().size(), 0);
  const CollectiveTable& collectives = trace.collectives();
  for (std::size_t i = 0; i < collectives.size(); ++i)
    if (collectives.span[i].valid()) collectives_.push_back(collectives.span[i].value());
  std::sort(collectives_.begin(), collectives_.end());
}

bool Communication::is(SpanId kernel) {
  if (std::binary_search(collectives_.begin(), collectives_.end(), kernel.value())) return true;
  const StringId name = trace_.spans().name[kernel];
  if (!name.valid()) return false;
  std::uint8_t& known = by_name_[name.index()];
  if (known == 0) known = communicates_by_name(trace_.string(name)) ? 2 : 1;
  return known == 2;
}

}  // namespace sonde::detail
