// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/memory.h"

#include <cstdint>
#include <type_traits>

#include <c10/core/Device.h>

#include "collect/torch/late_hooks.h"
#include "collect/torch/memory_hooks.h"
#include "collect/torch/recording_cost.h"
#include "sonde/source/op.h"

namespace sonde::torch {
namespace {

static_assert(sizeof(c10::Device) == sizeof(MemoryDevice));
static_assert(std::is_trivially_copyable_v<c10::Device>);

void write(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
           MemoryDevice device, bool failed) {
  sonde_allocation allocation;
  allocation.size = sizeof(allocation);
  allocation.address = reinterpret_cast<std::uintptr_t>(address);
  allocation.bytes = bytes;
  allocation.total_allocated_bytes = static_cast<std::int64_t>(allocated);
  allocation.total_reserved_bytes = static_cast<std::int64_t>(reserved);
  allocation.device_type = static_cast<std::uint8_t>(device.type);
  allocation.flags = failed ? 1 : 0;
  allocation.device_index = device.index;  // NOLINT(bugprone-signed-char-misuse): -1 is none
  sonde_allocated(&allocation);
}

constexpr std::uint32_t kQuiet = ~std::uint32_t{0};
__thread std::uint32_t reports_until_timed __attribute__((tls_model("initial-exec"))) = kTimedEvery;

void record(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
            MemoryDevice device, bool failed) {
  if (reports_until_timed == kQuiet) return;
  const bool is_timed = --reports_until_timed == 0;
  const std::int64_t before_ns = is_timed ? cost_clock_ns() : 0;
  write(address, bytes, allocated, reserved, device, failed);
  if (!is_timed) return;
  reports_until_timed = kTimedEvery;
  add_cost(CostPath::Allocation, cost_clock_ns() - before_ns);
}

}  // namespace

void set_memory_quiet(bool quiet) {
  reports_until_timed = quiet ? kQuiet : kTimedEvery;
}

void report_memory(bool on) {
  if (on) hook_loaded_libraries();
  __atomic_store_n(&sonde_memory_report, on ? &record : nullptr, __ATOMIC_RELEASE);
}

}  // namespace sonde::torch
