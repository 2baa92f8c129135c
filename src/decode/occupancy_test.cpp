// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/occupancy.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

DeviceRow h200() {
  DeviceRow device;
  device.compute_major = 9;
  device.compute_minor = 0;
  device.multiprocessors = 132;
  device.warp_size = 32;
  device.max_threads_per_block = 1024;
  device.max_threads_per_multiprocessor = 2048;
  device.registers_per_block = 65536;
  device.registers_per_multiprocessor = 65536;
  device.shared_bytes_per_block = 49152;
  device.shared_bytes_per_block_optin = 232448;
  device.shared_bytes_per_multiprocessor = 233472;
  return device;
}

KernelRow launched(std::int32_t blocks, std::int32_t threads, std::int32_t registers,
                   std::int64_t shared_bytes) {
  KernelRow kernel;
  kernel.grid_x = blocks;
  kernel.grid_y = kernel.grid_z = 1;
  kernel.block_x = threads;
  kernel.block_y = kernel.block_z = 1;
  kernel.registers_per_thread = registers;
  kernel.shared_bytes = shared_bytes;
  TraceBuilder builder;
  add_occupancy(kernel, h200(), builder);
  return kernel;
}

TEST(Occupancy, IsKinetosWhereThatIsRight) {
  // What PyTorch 2.11 wrote for an H200.
  const KernelRow fill = launched(1000, 128, 16, 0);
  EXPECT_DOUBLE_EQ(fill.blocks_per_sm, 7.575758);
  EXPECT_DOUBLE_EQ(fill.warps_per_sm, 30.303030);
  EXPECT_EQ(fill.occupancy_percent, 47);
  const KernelRow small = launched(1, 64, 32, 0);
  EXPECT_DOUBLE_EQ(small.blocks_per_sm, 0.007576);
  EXPECT_DOUBLE_EQ(small.warps_per_sm, 0.015152);
  EXPECT_EQ(small.occupancy_percent, 0);
  EXPECT_EQ(launched(256, 128, 95, 0).occupancy_percent, 12);
}

TEST(Occupancy, CountsSharedMemoryThatAKernelOptedInTo) {
  EXPECT_EQ(launched(1000, 128, 168, 48 << 10).active_blocks_per_sm, 3);
  EXPECT_EQ(launched(1000, 128, 168, 64 << 10).active_blocks_per_sm, 3);
  EXPECT_EQ(launched(1000, 128, 168, 100 << 10).active_blocks_per_sm, 2);
  const KernelRow large = launched(1000, 128, 168, 216 << 10);
  EXPECT_EQ(large.active_blocks_per_sm, 1);
  EXPECT_EQ(large.occupancy_percent, 6);
  EXPECT_EQ(large.block_limit_shared, 1);
}

TEST(Occupancy, IsNotGuessed) {
  KernelRow kernel;
  kernel.grid_x = kernel.grid_y = kernel.grid_z = 1;
  kernel.block_x = kernel.block_y = kernel.block_z = 1;
  TraceBuilder builder;
  add_occupancy(kernel, DeviceRow(), builder);
  EXPECT_EQ(kernel.occupancy_percent, -1);
}

}  // namespace
}  // namespace sonde
