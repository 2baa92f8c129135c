// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What was held at one moment, and what held it.

#include <algorithm>
#include <unordered_map>

#include "analyse/memory/places.h"
#include "sonde/analyse/memory_report.h"

namespace sonde {
namespace {

using detail::BlockPlaces;

// The allocator's totals after its last event so far, else before its first.
void ask_allocator(const MemoryProfile& profile, const DeviceMemory& device, std::size_t event,
                   MemoryMoment& moment) {
  const AllocationTable& allocations = profile.trace.allocations();
  const auto row_of = [&](std::size_t i) {
    const MemoryEvent at = device.events[i];
    const MemoryBlock block = device.blocks[at.block];
    if (at.action == MemoryAction::Create) return block.birth;
    return at.action == MemoryAction::Destroy ? block.death : AllocationId();
  };
  for (std::size_t i = event + 1; i-- > 0;) {
    const AllocationId row = row_of(i);
    if (!row.valid()) continue;
    moment.allocated_bytes = allocations.total_allocated_bytes[row];
    moment.reserved_bytes = allocations.total_reserved_bytes[row];
    return;
  }
  for (std::size_t i = event + 1; i < device.events.size(); ++i) {
    const AllocationId row = row_of(i);
    if (!row.valid()) continue;
    moment.reserved_bytes = allocations.total_reserved_bytes[row];
    if (allocations.total_allocated_bytes[row] < 0) return;
    // Both are within what one process can have. Invalid values may wrap.
    moment.allocated_bytes = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(allocations.total_allocated_bytes[row]) -
        static_cast<std::uint64_t>(allocations.bytes[row]));
    return;
  }
}

using Key = std::uint64_t (*)(BlockPlaces& places, const MemoryBlock& block);
using Text = std::string (*)(BlockPlaces& places, const MemoryBlock& block);

std::vector<MemoryShare> shares(const DeviceMemory& device, const std::vector<std::uint32_t>& alive,
                                BlockPlaces& places, Key key, Text text) {
  std::unordered_map<std::uint64_t, std::size_t> by_key;
  std::unordered_map<std::string, std::size_t> by_name;  // several keys may have one text
  std::vector<MemoryShare> rows;
  for (const std::uint32_t number : alive) {
    const MemoryBlock block = device.blocks[number];
    const auto [found, is_new] = by_key.try_emplace(key(places, block), 0);
    if (is_new) {
      const auto [row, is_new_name] = by_name.try_emplace(text(places, block), rows.size());
      if (is_new_name) rows.push_back({row->first, 0, 0});
      found->second = row->second;
    }
    rows[found->second].bytes += block.bytes;
    ++rows[found->second].blocks;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const MemoryShare& a, const MemoryShare& b) { return a.bytes > b.bytes; });
  return rows;
}

}  // namespace

std::size_t memory_event_at(const DeviceMemory& device, Nanos time_ns) noexcept {
  const auto after =
      std::upper_bound(device.events.begin(), device.events.end(), time_ns,
                       [](Nanos time, const MemoryEvent& event) { return time < event.time_ns; });
  return after == device.events.begin()
             ? kNoEventNumber
             : static_cast<std::size_t>(after - device.events.begin()) - 1;
}

MemoryMoment memory_moment(const MemoryProfile& profile, const DeviceMemory& device,
                           std::size_t event) {
  MemoryMoment moment;
  std::vector<MemoryCategory> category(device.blocks.size(), MemoryCategory::Unknown);
  std::vector<std::uint8_t> is_alive(device.blocks.size(), 0);
  moment.time_ns = profile.trace.first_ns();
  MemoryRun run(device);
  for (std::size_t i = 0; event != kNoEventNumber && i <= event && run.next(); ++i) {
    const MemoryEvent& at = run.event();
    category[at.block] = at.to;
    is_alive[at.block] = at.action != MemoryAction::Destroy ? 1 : 0;
    if (at.time_ns != kBeforeRecording) moment.time_ns = at.time_ns;
  }
  moment.live_bytes = run.live_bytes();
  moment.by_category = run.by_category();
  for (std::uint32_t i = 0; i < device.blocks.size(); ++i) {
    if (is_alive[i] != 0) moment.blocks.push_back(i);
  }
  std::stable_sort(moment.blocks.begin(), moment.blocks.end(),
                   [&device](std::uint32_t a, std::uint32_t b) {
                     return device.blocks.bytes(a) > device.blocks.bytes(b);
                   });
  for (const std::uint32_t block : moment.blocks) moment.categories.push_back(category[block]);
  ask_allocator(profile, device, event, moment);
  if (moment.allocated_bytes > moment.live_bytes)
    moment.unseen_bytes = moment.allocated_bytes - moment.live_bytes;

  BlockPlaces places(profile.trace);
  moment.by_op = shares(
      device, moment.blocks, places,
      [](BlockPlaces& at, const MemoryBlock& block) { return at.op_key(block); },
      [](BlockPlaces& at, const MemoryBlock& block) { return at.op_text(block); });
  moment.by_module = shares(
      device, moment.blocks, places,
      [](BlockPlaces& at, const MemoryBlock& block) { return at.module_key(block); },
      [](BlockPlaces& at, const MemoryBlock& block) { return at.module_text(block); });
  moment.by_stack = shares(
      device, moment.blocks, places,
      [](BlockPlaces& at, const MemoryBlock& block) { return at.stack_key(block); },
      [](BlockPlaces& at, const MemoryBlock& block) { return at.stack_text(block); });
  return moment;
}

}  // namespace sonde
