// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What held memory, and when: the blocks of memory in a trace, what each was for, and everything
// that happened to them.
//
//   const MemoryProfile memory = memory_profile(trace);
//   for (const DeviceMemory& device : memory.devices) {
//     std::cout << to_string(device.device) << " " << device.peak.live_bytes << "\n";
//   }
//
// A block is memory at one address, from its allocation to its release. What it was for follows
// from the operators that used it, as in PyTorch's memory profiler (docs/metrics.md says how, and
// where the two differ). This needs a recording with shapes and memory. A Kineto trace does not say
// which tensors an operator received; `missing` then says what was guessed instead.
//
// At every event, the bytes by category add up to the live bytes, which are the initial bytes plus
// allocations minus frees. Time and memory are linear in the trace, except for sorting what is not
// yet in order.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/memory_rows.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

struct MemoryDevice {
  DeviceType type = DeviceType::Cpu;
  std::int32_t index = -1;  // -1: there is only one of its kind

  friend bool operator==(const MemoryDevice& a, const MemoryDevice& b) noexcept {
    return a.type == b.type && a.index == b.index;
  }
};
// Converts "cpu" and "cuda:0" to and from a device.
std::string to_string(const MemoryDevice& device);
Result<MemoryDevice> parse_memory_device(std::string_view text);

inline constexpr std::size_t kNoEventNumber = static_cast<std::size_t>(-1);

// Records that contradict each other.
struct MemoryProblems {
  std::uint64_t double_frees = 0;       // frees of a free address; ignored
  std::uint64_t double_births = 0;      // allocations at an address in use; the earlier block ends
  std::uint64_t sizes_that_differ = 0;  // frees of another size than allocated; the latter counts
  std::uint64_t without_meaning = 0;    // records with an impossible size; ignored
};

struct MemoryPeak {
  std::size_t event = kNoEventNumber;  // the event that reached it; none if nothing was ever live
  Nanos time_ns = 0;
  std::int64_t live_bytes = 0;
  BytesByCategory by_category{};
};

// One device of one process.
struct DeviceMemory {
  MemoryDevice device;
  ProcessId process;
  MemoryBlocks blocks;
  // In time order; blocks held before come first.
  MemoryEvents events;
  MemoryPeak peak;
  MemoryProblems problems;
  std::vector<AllocationId> out_of_memory;  // requests that failed
};

struct MemoryProfile {
  Trace trace;
  std::vector<DeviceMemory> devices;  // the host first; only devices with memory
  // Sentences about what the trace does not show, and what that means for the result.
  std::vector<std::string> missing;
  bool has_tensors = false;  // the trace says which tensors operators received

  // A device by name ("cuda:0"); "" is PyTorch's choice: the first that is not the host, else the
  // host. The error names the devices that exist.
  Result<const DeviceMemory*> find(std::string_view name) const&;
  Result<const DeviceMemory*> find(std::string_view name) const&& = delete;

  Nanos born_ns(const MemoryBlock& block) const noexcept {
    return block.birth.valid() ? trace.allocations().time_ns[block.birth] : trace.first_ns();
  }
  Nanos died_ns(const MemoryBlock& block) const noexcept {
    return block.death.valid() ? trace.allocations().time_ns[block.death] : trace.last_ns();
  }
};

MemoryProfile memory_profile(const Trace& trace);

// Steps through the events of a device and keeps the current bytes.
//
//   MemoryRun run(device);
//   while (run.next()) … run.live_bytes(), run.by_category(), run.event()
class MemoryRun {
 public:
  explicit MemoryRun(const DeviceMemory& device) : device_(&device) {}
  explicit MemoryRun(const DeviceMemory&&) = delete;

  bool next() noexcept {
    if (next_ == device_->events.size()) return false;
    if (at_ + 1 >= read_) {
      read_ = device_->events.read(next_, events_.data());
      at_ = 0;
    } else {
      ++at_;
    }
    ++next_;
    apply(events_[at_]);
    return true;
  }
  const MemoryEvent& event() const noexcept { return events_[at_]; }
  std::size_t number() const noexcept { return next_ - 1; }
  std::int64_t live_bytes() const noexcept { return live_bytes_; }
  const BytesByCategory& by_category() const noexcept { return by_category_; }

 private:
  void apply(const MemoryEvent& event) noexcept {
    const std::int64_t bytes = device_->blocks.bytes(event.block);
    const bool leaves = event.action >= MemoryAction::IncrementVersion;
    const bool arrives = event.action <= MemoryAction::IncrementVersion;
    by_category_[static_cast<std::size_t>(event.from)] -= leaves ? bytes : 0;
    by_category_[static_cast<std::size_t>(event.to)] += arrives ? bytes : 0;
    live_bytes_ += (arrives ? bytes : 0) - (leaves ? bytes : 0);
  }

  const DeviceMemory* device_;
  std::array<MemoryEvent, MemoryEvents::kAtOnce> events_{};  // those read last
  std::size_t read_ = 0;                                     // of events_
  std::size_t at_ = 0;                                       // the current one, in events_
  std::size_t next_ = 0;
  std::int64_t live_bytes_ = 0;
  BytesByCategory by_category_{};
};

}  // namespace sonde
