// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Who held the bytes, and when: the blocks of memory of a trace, what each was for, and everything
// that happened to them.
//
//   const MemoryProfile memory = memory_profile(trace);
//   for (const DeviceMemory& device : memory.devices) {
//     std::cout << to_string(device.device) << " " << device.peak.live_bytes << "\n";
//   }
//
// A block is one life of an address: from an allocation to its release. What it was for is found as
// PyTorch's memory profiler finds it, from the operators that were given it (docs/metrics.md says
// how, and where the two differ). That takes a recording with shapes and memory; a Kineto trace
// does not say which tensors an operator got, and `missing` then says what was guessed instead.
//
// At every event: the bytes by category add up to the live bytes, and these are what was there
// before plus creates less destroys. Time and memory are linear in the trace, but for a sort of
// what is not in order yet.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// In the order of PyTorch's columns.
enum class MemoryCategory : std::uint8_t {
  Parameter,
  OptimizerState,
  Input,
  Temporary,  // lives within one operator
  Activation,
  Gradient,
  AutogradDetail,  // made by gradients on their way
  Unknown,
};
inline constexpr std::size_t kMemoryCategories = 8;
// "parameter", "optimizer_state", …
std::string_view to_string(MemoryCategory category) noexcept;

using BytesByCategory = std::array<std::int64_t, kMemoryCategories>;

struct MemoryDevice {
  DeviceType type = DeviceType::Cpu;
  std::int32_t index = -1;  // -1: of its kind there is only one

  friend bool operator==(const MemoryDevice& a, const MemoryDevice& b) noexcept {
    return a.type == b.type && a.index == b.index;
  }
};
// "cpu", "cuda:0", and back.
std::string to_string(const MemoryDevice& device);
Result<MemoryDevice> parse_memory_device(std::string_view text);

// Numbered as PyTorch numbers them.
enum class MemoryAction : std::uint8_t { Preexisting = 1, Create, IncrementVersion, Destroy };

struct MemoryBlock {
  std::uint64_t address = 0;  // 0: not known, only that it was there
  std::int64_t bytes =
      0;               // of one that was there before and was not freed: what tensors show of it
  AllocationId birth;  // invalid: it was there before
  AllocationId death;  // invalid: it was there at the end
  SpanId span;         // the innermost around its birth
  // The call of the program in which it was born: the outermost operator, or a gradient's.
  SpanId op;
};

struct MemoryEvent {
  Nanos time_ns = 0;  // kBeforeRecording for Preexisting
  std::uint32_t block = 0;
  MemoryAction action = MemoryAction::Create;
  // Of the bytes before and after; both the same but for IncrementVersion, when the block was
  // written to.
  MemoryCategory from = MemoryCategory::Unknown;
  MemoryCategory to = MemoryCategory::Unknown;
};
inline constexpr Nanos kBeforeRecording = -1;
inline constexpr std::size_t kNoEventNumber = static_cast<std::size_t>(-1);

// What happened in the trace and cannot have happened in a program.
struct MemoryProblems {
  std::uint64_t double_frees = 0;       // of an address that was free; ignored
  std::uint64_t double_births = 0;      // of an address that was taken; the block before ends there
  std::uint64_t sizes_that_differ = 0;  // a free names other bytes than its allocation, which count
  std::uint64_t without_meaning = 0;    // of no bytes or of a size no memory has; ignored
};

struct MemoryPeak {
  std::size_t event = kNoEventNumber;  // after which it was reached; none: nothing was ever live
  Nanos time_ns = 0;
  std::int64_t live_bytes = 0;
  BytesByCategory by_category{};
};

// One device of one process.
struct DeviceMemory {
  MemoryDevice device;
  ProcessId process;
  std::vector<MemoryBlock> blocks;
  // In the order in which they happened; what was there before comes first.
  std::vector<MemoryEvent> events;
  MemoryPeak peak;
  MemoryProblems problems;
  std::vector<AllocationId> out_of_memory;  // requests that failed
};

struct MemoryProfile {
  Trace trace;
  std::vector<DeviceMemory> devices;  // the host first; those with something to tell
  // Sentences on what the trace does not say, and what that means for the result.
  std::vector<std::string> missing;
  bool has_tensors = false;  // the trace says which tensors operators were given

  // A device by name ("cuda:0"); "" is PyTorch's choice: the first that is not the host, else the
  // host. An error that names those there are.
  Result<const DeviceMemory*> find(std::string_view name) const;

  Nanos born_ns(const MemoryBlock& block) const noexcept {
    return block.birth.valid() ? trace.allocations().time_ns[block.birth] : trace.first_ns();
  }
  Nanos died_ns(const MemoryBlock& block) const noexcept {
    return block.death.valid() ? trace.allocations().time_ns[block.death] : trace.last_ns();
  }
};

MemoryProfile memory_profile(const Trace& trace);

// Runs through the events of a device with the bytes as they stand.
//
//   MemoryRun run(device);
//   while (run.next()) … run.live_bytes(), run.by_category(), run.event()
class MemoryRun {
 public:
  explicit MemoryRun(const DeviceMemory& device) : device_(&device) {}

  bool next() noexcept {
    if (next_ == device_->events.size()) return false;
    apply(device_->events[next_++]);
    return true;
  }
  const MemoryEvent& event() const noexcept { return device_->events[next_ - 1]; }
  std::size_t number() const noexcept { return next_ - 1; }
  std::int64_t live_bytes() const noexcept { return live_bytes_; }
  const BytesByCategory& by_category() const noexcept { return by_category_; }

 private:
  void apply(const MemoryEvent& event) noexcept {
    const std::int64_t bytes = device_->blocks[event.block].bytes;
    const bool leaves = event.action >= MemoryAction::IncrementVersion;
    const bool arrives = event.action <= MemoryAction::IncrementVersion;
    by_category_[static_cast<std::size_t>(event.from)] -= leaves ? bytes : 0;
    by_category_[static_cast<std::size_t>(event.to)] += arrives ? bytes : 0;
    live_bytes_ += (arrives ? bytes : 0) - (leaves ? bytes : 0);
  }

  const DeviceMemory* device_;
  std::size_t next_ = 0;
  std::int64_t live_bytes_ = 0;
  BytesByCategory by_category_{};
};

}  // namespace sonde
