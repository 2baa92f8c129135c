// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which thread is the main one, and the numbers that PyTorch gives to threads.

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "analyse/events/event_data.h"

namespace sonde::detail {
namespace {

// The thread of the first step; else the one whose id is its process's; else the first with an
// operator.
std::uint32_t main_thread(const EventData& data) {
  const TrackTable& tracks = data.trace.tracks();
  std::uint32_t found = kNoEvent;
  bool found_by_id = false;
  for (std::size_t event = 0; event < data.size(); ++event) {
    // Only a step comes before one that was found by its id.
    if (found_by_id && !data.has_steps) break;
    if (!data.nests(event) || !is_pytorch_operator(data.kind(event))) continue;
    const TrackId track(data.thread[event]);
    if (!track.valid()) continue;
    if (data.name[event] == data.made_up(MadeUpName::ProfilerStep)) return track.value();
    const ProcessId process = tracks.process[track];
    const bool by_id = process.valid() && tracks.id[track] == data.trace.processes().pid[process];
    if (found == kNoEvent || (by_id && !found_by_id)) {
      found = track.value();
      found_by_id = by_id;
    }
  }
  return found;
}

// Forward operators ran on the thread that their gradients refer to.
void learn_from_gradients(const Trace& trace, std::vector<std::int64_t>& logical) {
  const FlowTable& flows = trace.flows();
  const SpanTable& spans = trace.spans();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows.kind[i] != FlowKind::ForwardBackward) continue;
    const SpanId from = flows.from_span[i];
    const SpanId to = flows.to_span[i];
    if (!from.valid() || !to.valid() || !spans.track[from].valid()) continue;
    std::int64_t& number = logical[spans.track[from].index()];
    if (number == 0) number = spans.forward_thread[to];
  }
}

}  // namespace

// Profiling overhead, and device work without a known operator, belong to no thread of the program;
// PyTorch shows them on the main thread.
void place_what_has_no_thread(EventData& data) {
  const TrackTable& tracks = data.trace.tracks();
  const bool has_any =
      data.has_kind([](SpanKind kind) { return is_on_device(kind) || kind == SpanKind::Overhead; });
  const std::uint32_t main = has_any ? main_thread(data) : kNoEvent;
  if (main == kNoEvent) return;
  for (std::size_t event = 0; event < data.size(); ++event) {
    const bool on_device = data.has(event, kEventDevice) && data.thread[event] < tracks.size() &&
                           tracks.kind[data.thread[event]] != TrackKind::Thread;
    if (on_device || data.kind(event) == SpanKind::Overhead) data.thread.set(event, main);
  }
}

void number_threads(EventData& data) {
  const Trace& trace = data.trace;
  std::vector<std::int64_t>& logical = data.logical_thread;
  logical.assign(trace.tracks().size(), 0);
  for (std::size_t i = 0; i < logical.size(); ++i) logical[i] = trace.tracks().logical_id[i];
  learn_from_gradients(trace, logical);

  const std::unordered_set<std::int64_t> taken(logical.begin(), logical.end());
  std::int64_t next = 0;
  const auto take = [&](std::uint32_t track) {
    if (track >= logical.size() || logical[track] != 0) return;
    do ++next;
    while (taken.contains(next));
    logical[track] = next;
  };
  take(main_thread(data));
  if (data.has_tree) {
    for (const std::uint32_t track : data.host_threads) take(track);
    return;
  }
  std::vector<bool> seen(logical.size());
  for (std::size_t event = 0; event < data.size(); ++event) {
    const std::uint32_t track = data.thread[event];
    if (!data.nests(event) || track >= seen.size() || seen[track]) continue;
    seen[track] = true;
    take(track);
  }
}

}  // namespace sonde::detail
