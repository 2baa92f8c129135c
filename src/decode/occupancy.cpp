// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/occupancy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace sonde {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// What differs between generations.
struct Generation {
  std::int64_t blocks = 32;             // the most that a multiprocessor holds
  std::int64_t shared_unit = 128;       // the unit in which shared memory is allocated
  std::int64_t reserved_shared = 1024;  // what the system takes per block
};

Generation generation_of(std::int32_t major, std::int32_t minor) {
  Generation generation;
  if (major < 8) {
    generation.shared_unit = 256;
    generation.reserved_shared = 0;
  }
  if (major == 7 && minor == 5) generation.blocks = 16;
  if (major == 8 && (minor == 6 || minor == 7)) generation.blocks = 16;
  if (major == 8 && minor == 9) generation.blocks = 24;
  if (major == 12) generation.blocks = 24;
  return generation;
}

class Calculator {
 public:
  Calculator(const KernelRow& kernel, const DeviceRow& device)
      : device_(device),
        generation_(generation_of(device.compute_major, device.compute_minor)),
        threads_(std::int64_t{kernel.block_x} * kernel.block_y * kernel.block_z),
        registers_(kernel.registers_per_thread),
        shared_(kernel.shared_bytes) {
    warps_ = divided_up(threads_, device.warp_size);
  }

  std::int64_t warp_limit() const {
    return device_.max_threads_per_multiprocessor / device_.warp_size / warps_;
  }

  std::int64_t block_limit() const { return generation_.blocks; }

  // Registers are allocated per warp, and each quarter of a multiprocessor has its own.
  std::int64_t register_limit() const {
    if (registers_ <= 0) return kNoLimit;
    constexpr std::int64_t kQuarters = 4;
    const std::int64_t a_warp = registers_of_a_warp();
    if (a_warp * rounded_up(warps_, kQuarters) > device_.registers_per_block) return 0;
    const std::int64_t of_a_quarter = device_.registers_per_multiprocessor / kQuarters / a_warp;
    return of_a_quarter * kQuarters / warps_;
  }

  std::int64_t shared_limit() const {
    const std::int64_t most =
        std::max(device_.shared_bytes_per_block_optin, device_.shared_bytes_per_block);
    if (shared_ > most) return 0;
    const std::int64_t given = shared_given();
    return given == 0 ? kNoLimit : device_.shared_bytes_per_multiprocessor / given;
  }

  std::int64_t registers_of_a_warp() const {
    constexpr std::int64_t kUnit = 256;
    return rounded_up(registers_ * device_.warp_size, kUnit);
  }
  std::int64_t registers_of_a_block() const {
    constexpr std::int64_t kQuarters = 4;
    return registers_ <= 0 ? 0 : registers_of_a_warp() * rounded_up(warps_, kQuarters);
  }
  std::int64_t shared_given() const {
    return rounded_up(shared_ + generation_.reserved_shared, generation_.shared_unit);
  }
  std::int64_t threads() const { return threads_; }

 private:
  const DeviceRow& device_;
  Generation generation_;
  std::int64_t threads_;
  std::int64_t registers_;
  std::int64_t shared_;
  std::int64_t warps_ = 0;
};

// In single precision, with six digits after the point, as Kineto writes them.
double as_kineto_writes(float value) {
  return std::round(static_cast<double>(value) * 1e6) / 1e6;
}

bool knows_all(const KernelRow& kernel, const DeviceRow& device) {
  return device.multiprocessors > 0 && device.warp_size > 0 &&
         device.max_threads_per_multiprocessor > 0 && device.registers_per_multiprocessor > 0 &&
         device.registers_per_block > 0 && device.shared_bytes_per_multiprocessor > 0 &&
         kernel.block_x > 0 && kernel.block_y > 0 && kernel.block_z > 0 && kernel.grid_x > 0 &&
         kernel.grid_y > 0 && kernel.grid_z > 0 && kernel.shared_bytes >= 0 &&
         std::int64_t{kernel.block_x} * kernel.block_y <= 65536 && kernel.block_z <= 65536;
}

}  // namespace

void add_occupancy(KernelRow& kernel, const DeviceRow& device, TraceBuilder& builder) {
  if (!knows_all(kernel, device)) return;
  const Calculator calculator(kernel, device);
  const auto blocks = static_cast<float>(kernel.grid_x) * static_cast<float>(kernel.grid_y) *
                      static_cast<float>(kernel.grid_z);
  const float blocks_per_sm = blocks / static_cast<float>(device.multiprocessors);
  const auto threads = static_cast<float>(calculator.threads());
  kernel.blocks_per_sm = as_kineto_writes(blocks_per_sm);
  kernel.warps_per_sm =
      as_kineto_writes(blocks_per_sm * threads / static_cast<float>(device.warp_size));

  struct Limit {
    const char* name;
    std::int64_t blocks;
  };
  const std::array<Limit, 4> limits = {{{"WARPS", calculator.warp_limit()},
                                        {"REGS", calculator.register_limit()},
                                        {"SMEM", calculator.shared_limit()},
                                        {"BLOCKS", calculator.block_limit()}}};
  std::int64_t active = kNoLimit;
  for (const Limit& limit : limits) active = std::min(active, limit.blocks);
  std::string factors;
  for (const Limit& limit : limits) {
    if (limit.blocks == active) factors += (factors.empty() ? "" : "|") + std::string(limit.name);
  }
  const float at_once = std::min(static_cast<float>(active), blocks_per_sm);
  kernel.occupancy_percent = std::round(100.0F * at_once * threads /
                                        static_cast<float>(device.max_threads_per_multiprocessor));
  kernel.active_blocks_per_sm = static_cast<std::int32_t>(active);
  kernel.limiting_factors = builder.intern(factors);
  kernel.block_limit_warps = static_cast<std::int32_t>(limits[0].blocks);
  kernel.block_limit_registers = static_cast<std::int32_t>(limits[1].blocks);
  kernel.block_limit_shared = static_cast<std::int32_t>(limits[2].blocks);
  kernel.block_limit_blocks = static_cast<std::int32_t>(limits[3].blocks);
  kernel.registers_per_block = static_cast<std::int32_t>(
      std::min<std::int64_t>(calculator.registers_of_a_block(), kNoLimit));
  kernel.allocated_shared_bytes = calculator.shared_given();
}

}  // namespace sonde
