// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Answers from a MemoryProfile: what was held at a given time, what operators and steps allocated,
// and what was never freed.
//
//   const MemoryProfile memory = memory_profile(trace);
//   const DeviceMemory& device = memory.devices.front();
//   const MemoryMoment peak = memory_moment(memory, device, device.peak.event);
//   for (const MemoryShare& share : peak.by_op) std::cout << share.name << " " << share.bytes;
//
// The shares by category, by operator, by module and by stack each add up to the live bytes. The
// live bytes and what was held before add up to the allocator's own total.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sonde/analyse/memory.h"

namespace sonde {

struct MemoryShare {
  std::string name;  // an operator, a module, or frames of a stack separated by " < "
  std::int64_t bytes = 0;
  std::uint64_t blocks = 0;
};

struct MemoryMoment {
  Nanos time_ns = 0;
  std::int64_t live_bytes = 0;
  BytesByCategory by_category{};
  // The allocator's own count; -1 if unknown.
  std::int64_t allocated_bytes = -1;
  std::int64_t reserved_bytes = -1;
  // What was allocated before recording began.
  std::int64_t unseen_bytes = 0;
  // Largest first.
  std::vector<MemoryShare> by_op;
  std::vector<MemoryShare> by_module;
  std::vector<MemoryShare> by_stack;
  std::vector<std::uint32_t> blocks;       // all live blocks, largest first
  std::vector<MemoryCategory> categories;  // of each block at that time
};

// The state after the event with that number; kNoEventNumber: before the first.
MemoryMoment memory_moment(const MemoryProfile& profile, const DeviceMemory& device,
                           std::size_t event);
// The last event at or before a time; kNoEventNumber if there is none.
std::size_t memory_event_at(const DeviceMemory& device, Nanos time_ns) noexcept;

struct OpMemory {
  std::string name;
  std::uint64_t allocations = 0;
  std::int64_t allocated_bytes = 0;     // in total
  std::int64_t most_live_bytes = 0;     // at once
  std::int64_t live_at_peak_bytes = 0;  // at the device's peak; all rows add up to it
  std::int64_t live_at_end_bytes = 0;
};
// One row for each operator that the program called, and one for what was held before, ordered by
// what they held at the peak, most first.
std::vector<OpMemory> memory_by_op(const MemoryProfile& profile, const DeviceMemory& device);

struct StepMemory {
  std::int64_t step = -1;
  Nanos start_ns = 0;
  Nanos end_ns = 0;
  std::int64_t live_at_start_bytes = 0;
  std::int64_t live_at_end_bytes = 0;  // live at the start + allocated - freed
  std::int64_t peak_bytes = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t freed_bytes = 0;
  std::int64_t growth_bytes =
      0;                    // of the live bytes since the end of the previous step; 0 for the first
  bool is_recorded = true;  // false: nobody marked it, but the same operators repeat
};
// In time order. If no steps were recorded, each repetition of the same operators is one, counted
// from 0; empty if nothing repeats.
std::vector<StepMemory> memory_by_step(const MemoryProfile& profile, const DeviceMemory& device);

// Blocks with the same place and category that were allocated before the last step and still held
// when it ended. This includes blocks that the program frees only as it ends.
struct MemoryLeak {
  std::string op;
  std::string stack;  // frames separated by " < "; empty if none was recorded
  MemoryCategory category = MemoryCategory::Unknown;
  std::uint64_t blocks = 0;
  std::int64_t bytes = 0;
  std::uint64_t steps = 0;  // steps in which such a block was allocated; many for a leak
};
// Most steps first, then the largest.
std::vector<MemoryLeak> memory_leaks(const MemoryProfile& profile, const DeviceMemory& device);

}  // namespace sonde
