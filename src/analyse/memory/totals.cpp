// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What operators and steps allocated and freed, and what they never freed.

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyse/memory/places.h"
#include "analyse/time/steady.h"
#include "analyse/time/whole_steps.h"
#include "base/big_vector.h"
#include "sonde/analyse/memory_report.h"

namespace sonde {
namespace {

using detail::BlockPlaces;

// The row of each block, by a key. Rows are numbered in the order in which they are first seen.
struct Grouping {
  std::vector<std::uint32_t> row_of_block;
  std::vector<std::uint32_t> example;  // a block of each row
};

template <typename Key>
Grouping group_blocks(const DeviceMemory& device, Key key) {
  Grouping out;
  std::unordered_map<std::uint64_t, std::uint32_t> rows;
  reserve_big(out.row_of_block, device.blocks.size());
  for (std::uint32_t i = 0; i < device.blocks.size(); ++i) {
    const auto [found, is_new] =
        rows.try_emplace(key(device.blocks[i]), static_cast<std::uint32_t>(out.example.size()));
    if (is_new) out.example.push_back(i);
    out.row_of_block.push_back(found->second);
  }
  return out;
}

struct Step {
  std::int64_t number;
  Nanos start_ns;
  Nanos end_ns;
  bool is_recorded;
};

// The thread of a process that has been at work for the longest time.
TrackId main_thread_of(const Trace& trace, ProcessId process) {
  TrackId main;
  Nanos most_ns = -1;
  for (std::size_t row = 0; row < trace.tracks().size(); ++row) {
    const auto spans = trace.track_spans(TrackId(row));
    if (trace.tracks().kind[row] != TrackKind::Thread || spans.empty()) continue;
    if (process.valid() && trace.tracks().process[row] != process) continue;
    const Nanos length_ns =
        trace.spans().start_ns[spans[spans.size() - 1]] - trace.spans().start_ns[spans[0]];
    if (length_ns > most_ns) main = TrackId(row);
    most_ns = std::max(most_ns, length_ns);
  }
  return main;
}

// Leaves out the steps on a device's own timeline. If none were recorded: what the main thread
// repeats.
std::vector<Step> steps_of(const MemoryProfile& profile, ProcessId process) {
  const Trace& trace = profile.trace;
  const SpanTable& spans = trace.spans();
  std::vector<Step> steps;
  for (const SpanId span : detail::whole_steps(trace)) {
    const TrackId track = spans.track[span];
    if (track.valid() && trace.tracks().process[track] != process) continue;
    steps.push_back({spans.step[span], spans.start_ns[span], trace.end_ns(span), true});
  }
  if (steps.empty())
    for (const detail::Coverage::Stretch& one :
         detail::iterations(trace, main_thread_of(trace, process)))
      steps.push_back(
          {static_cast<std::int64_t>(steps.size()), one.begin_ns, one.end_ns - 1, false});
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.start_ns < b.start_ns; });
  return steps;
}

}  // namespace

std::vector<OpMemory> memory_by_op(const MemoryProfile& profile, const DeviceMemory& device) {
  BlockPlaces places(profile.trace);
  const Grouping groups =
      group_blocks(device, [&](const MemoryBlock& block) { return places.op_key(block); });
  std::vector<OpMemory> rows(groups.example.size());
  std::vector<std::int64_t> live(rows.size(), 0);
  MemoryRun run(device);
  for (std::size_t i = 0; i < device.events.size(); ++i) {
    run.next();
    const MemoryEvent& event = run.event();
    if (event.action != MemoryAction::IncrementVersion) {
      const std::uint32_t at = groups.row_of_block[event.block];
      const std::int64_t bytes = device.blocks.bytes(event.block);
      const bool leaves = event.action == MemoryAction::Destroy;
      live[at] += leaves ? -bytes : bytes;
      rows[at].most_live_bytes = std::max(rows[at].most_live_bytes, live[at]);
      if (event.action == MemoryAction::Create) {
        ++rows[at].allocations;
        rows[at].allocated_bytes += bytes;
      }
    }
    if (i != device.peak.event) continue;
    for (std::size_t row = 0; row < rows.size(); ++row) rows[row].live_at_peak_bytes = live[row];
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row].name = places.op_text(device.blocks[groups.example[row]]);
    rows[row].live_at_end_bytes = live[row];
  }
  std::stable_sort(rows.begin(), rows.end(), [](const OpMemory& a, const OpMemory& b) {
    return std::tie(a.live_at_peak_bytes, a.allocated_bytes) >
           std::tie(b.live_at_peak_bytes, b.allocated_bytes);
  });
  return rows;
}

std::vector<StepMemory> memory_by_step(const MemoryProfile& profile, const DeviceMemory& device) {
  std::vector<StepMemory> rows;
  MemoryRun run(device);
  std::size_t next = 0;  // the first event that `run` has not taken
  const auto take_before = [&](Nanos time_ns, StepMemory* row) {
    for (; next < device.events.size() && device.events[next].time_ns <= time_ns; ++next) {
      run.next();
      if (row == nullptr) continue;
      const std::int64_t bytes = device.blocks.bytes(run.event().block);
      if (run.event().action == MemoryAction::Create) row->allocated_bytes += bytes;
      if (run.event().action == MemoryAction::Destroy) row->freed_bytes += bytes;
      row->peak_bytes = std::max(row->peak_bytes, run.live_bytes());
    }
  };
  for (const Step& step : steps_of(profile, device.process)) {
    take_before(step.start_ns - 1, nullptr);
    StepMemory row;
    row.step = step.number;
    row.start_ns = step.start_ns;
    row.end_ns = step.end_ns;
    row.is_recorded = step.is_recorded;
    row.live_at_start_bytes = run.live_bytes();
    row.peak_bytes = run.live_bytes();
    take_before(step.end_ns, &row);
    row.live_at_end_bytes = run.live_bytes();
    if (!rows.empty()) row.growth_bytes = row.live_at_end_bytes - rows.back().live_at_end_bytes;
    rows.push_back(row);
  }
  return rows;
}

std::vector<MemoryLeak> memory_leaks(const MemoryProfile& profile, const DeviceMemory& device) {
  const std::vector<Step> steps = steps_of(profile, device.process);
  if (steps.size() < 2) return {};
  const Nanos last_start_ns = steps.back().start_ns;
  const Nanos last_end_ns = steps.back().end_ns;
  std::vector<MemoryCategory> category(device.blocks.size(), MemoryCategory::Unknown);
  for (const MemoryEvent& event : device.events) category[event.block] = event.to;

  struct Group {
    MemoryLeak leak;
    std::size_t last_step = 0;  // its index in `steps`, plus 1
  };
  BlockPlaces places(profile.trace);
  std::unordered_map<std::uint64_t, std::size_t> by_key;
  std::map<std::tuple<std::string, std::string, MemoryCategory>, std::size_t> by_name;
  std::vector<Group> groups;
  // Several keys may have the same text.
  const auto row_named = [&](const std::string& op, const std::string& stack, MemoryCategory of) {
    const auto [row, is_new] = by_name.try_emplace({op, stack, of}, groups.size());
    if (is_new) groups.push_back({{op, stack, of, 0, 0, 0}, 0});
    return row->second;
  };
  for (std::uint32_t i = 0; i < device.blocks.size(); ++i) {
    if (!device.blocks.birth(i).valid()) continue;
    const MemoryBlock block = device.blocks[i];
    if (block.death.valid() && profile.died_ns(block) <= last_end_ns) continue;
    const Nanos born_ns = profile.born_ns(block);
    const auto after =
        std::upper_bound(steps.begin(), steps.end(), born_ns,
                         [](Nanos time, const Step& step) { return time < step.start_ns; });
    const auto in = static_cast<std::size_t>(after - steps.begin());
    if (in == 0 || born_ns > steps[in - 1].end_ns || born_ns >= last_start_ns) continue;
    const std::uint64_t key = (places.op_key(block) * 31 + places.stack_key(block)) * 31 +
                              static_cast<std::uint64_t>(category[i]);
    const auto [found, is_new] = by_key.try_emplace(key, 0);
    if (is_new)
      found->second = row_named(places.op_text(block), places.stack_text(block), category[i]);
    Group& group = groups[found->second];
    ++group.leak.blocks;
    group.leak.bytes += block.bytes;
    group.leak.steps += group.last_step != in ? 1 : 0;
    group.last_step = in;
  }
  std::vector<MemoryLeak> leaks;
  leaks.reserve(groups.size());
  for (Group& group : groups) leaks.push_back(std::move(group.leak));
  std::stable_sort(leaks.begin(), leaks.end(), [](const MemoryLeak& a, const MemoryLeak& b) {
    return std::tie(a.steps, a.bytes) > std::tie(b.steps, b.bytes);
  });
  return leaks;
}

}  // namespace sonde
