// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Torch's allocators report through two functions of c10. This library defines them too: where it
// is loaded before c10 (linked, or preloaded), its own are called, record, and call c10's. torch's
// profiler goes on to see what it would have seen.

#include "collect/torch/memory.h"

#include <c10/core/Device.h>
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sonde/op.h"

namespace sonde::torch {
namespace {

std::atomic<bool> reporting{false};

// The next definition after ours: c10's.
void* original(const char* symbol) {
  return ::dlsym(RTLD_NEXT, symbol);
}

void record(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
            c10::Device device, bool failed) {
  sonde_allocation allocation;
  allocation.address = reinterpret_cast<std::uintptr_t>(address);
  allocation.bytes = bytes;
  allocation.total_allocated_bytes = static_cast<std::int64_t>(allocated);
  allocation.total_reserved_bytes = static_cast<std::int64_t>(reserved);
  allocation.device_type = static_cast<std::uint8_t>(device.type());
  allocation.flags = failed ? 1 : 0;
  allocation.device_index = device.has_index() ? static_cast<int>(device.index()) : -1;
  sonde_allocated(&allocation);
}

}  // namespace

void report_memory(bool on) {
  reporting.store(on);
}

}  // namespace sonde::torch

namespace c10 {

// NOLINTBEGIN(readability-identifier-naming): c10's names

#define SONDE_SEEN __attribute__((visibility("default")))

SONDE_SEEN bool memoryProfilingEnabled();
SONDE_SEEN void reportMemoryUsageToProfiler(void* ptr, std::int64_t alloc_size,
                                            std::int64_t total_allocated,
                                            std::int64_t total_reserved, Device device);
SONDE_SEEN void reportMemoryUsageToProfiler(void* ptr, std::int64_t alloc_size,
                                            std::size_t total_allocated, std::size_t total_reserved,
                                            Device device);

bool memoryProfilingEnabled() {
  if (sonde::torch::reporting.load(std::memory_order_relaxed)) return true;
  static const auto next =
      reinterpret_cast<bool (*)()>(sonde::torch::original("_ZN3c1022memoryProfilingEnabledEv"));
  return next != nullptr && next();
}

// The totals' type differs between versions of torch, and with it the symbol.
void reportMemoryUsageToProfiler(void* ptr, std::int64_t alloc_size, std::int64_t total_allocated,
                                 std::int64_t total_reserved, Device device) {
  if (sonde::torch::reporting.load(std::memory_order_relaxed)) {
    sonde::torch::record(ptr, alloc_size, static_cast<std::size_t>(total_allocated),
                         static_cast<std::size_t>(total_reserved), device, false);
  }
  static const auto next =
      reinterpret_cast<void (*)(void*, std::int64_t, std::int64_t, std::int64_t, Device)>(
          sonde::torch::original("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"));
  if (next != nullptr) next(ptr, alloc_size, total_allocated, total_reserved, device);
}

void reportMemoryUsageToProfiler(void* ptr, std::int64_t alloc_size, std::size_t total_allocated,
                                 std::size_t total_reserved, Device device) {
  if (sonde::torch::reporting.load(std::memory_order_relaxed)) {
    sonde::torch::record(ptr, alloc_size, total_allocated, total_reserved, device, false);
  }
  static const auto next =
      reinterpret_cast<void (*)(void*, std::int64_t, std::size_t, std::size_t, Device)>(
          sonde::torch::original("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  if (next != nullptr) next(ptr, alloc_size, total_allocated, total_reserved, device);
}

// NOLINTEND(readability-identifier-naming)

}  // namespace c10
