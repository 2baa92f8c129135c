// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How device work is written in words: the structs of sonde/source/device.h, packed in this order.
//
//   DeviceSpan  name id | kind << 32 | device type << 40 | device index << 48
//               start, on CLOCK_REALTIME
//               duration
//               stream | context << 32
//               correlation
//               then, by kind, a kernel, a copy or a wait, if more is known
//   DeviceAllocation  time, on CLOCK_REALTIME; address; bytes; correlation
//               device type | memory kind << 8 | device index << 16
//   Device      name id | type << 32 | index << 48, and the properties

#include <cstddef>
#include <cstdint>
#include <span>

#include "sonde/source/device.h"

namespace sonde {

inline constexpr std::size_t kDeviceSpanWords = 5;
inline constexpr std::size_t kKernelWords = 10;
inline constexpr std::size_t kCopyWords = 5;
inline constexpr std::size_t kSyncWords = 3;
inline constexpr std::size_t kDeviceAllocationWords = 5;
inline constexpr std::size_t kDeviceWords = 9;

namespace detail {

// Numbers of up to 64 bits, packed into words. One list of fields serves reading and writing.
class FieldPacker {
 public:
  explicit FieldPacker(std::uint64_t* words) : words_(words) {}
  template <typename T>
  void operator()(const T& field, unsigned bits) {
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t value = static_cast<std::uint64_t>(field) & mask;
    if (used_ == 0) words_[at_] = 0;
    words_[at_] |= value << used_;
    used_ += bits;
    if (used_ == 64) {
      used_ = 0;
      ++at_;
    }
  }

 private:
  std::uint64_t* words_;
  std::size_t at_ = 0;
  unsigned used_ = 0;
};

class FieldUnpacker {
 public:
  explicit FieldUnpacker(const std::uint64_t* words) : words_(words) {}
  template <typename T>
  void operator()(T& field, unsigned bits) {
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    field = static_cast<T>((words_[at_] >> used_) & mask);
    used_ += bits;
    if (used_ == 64) {
      used_ = 0;
      ++at_;
    }
  }

 private:
  const std::uint64_t* words_;
  std::size_t at_ = 0;
  unsigned used_ = 0;
};

template <typename Span, typename Fields>
void span_fields(Span& span, Fields&& fields) {
  fields(span.name, 32);
  fields(span.kind, 8);
  fields(span.device_type, 8);
  fields(span.device_index, 16);
  fields(span.start_ns, 64);
  fields(span.duration_ns, 64);
  fields(span.stream, 32);
  fields(span.context, 32);
  fields(span.correlation, 64);
}

template <typename Kernel, typename Fields>
void kernel_fields(Kernel& kernel, Fields&& fields) {
  for (auto& size : kernel.grid) fields(size, 32);
  for (auto& size : kernel.block) fields(size, 32);
  for (auto& size : kernel.cluster) fields(size, 16);
  fields(kernel.registers_per_thread, 16);
  fields(kernel.static_shared_bytes, 32);
  fields(kernel.dynamic_shared_bytes, 32);
  fields(kernel.local_bytes_per_thread, 32);
  fields(kernel.graph_id, 32);
  fields(kernel.graph_node_id, 64);
  fields(kernel.priority, 64);
  fields(kernel.queued_ns, 64);
  fields(kernel.submitted_ns, 64);
}

template <typename Copy, typename Fields>
void copy_fields(Copy& copy, Fields&& fields) {
  fields(copy.bytes, 64);
  fields(copy.kind, 8);
  fields(copy.source_kind, 8);
  fields(copy.destination_kind, 16);
  fields(copy.source_device, 16);
  fields(copy.destination_device, 16);
  fields(copy.value, 32);
  fields(copy.graph_id, 32);
  fields(copy.graph_node_id, 64);
  fields(copy.source_context, 32);
  fields(copy.destination_context, 32);
}

template <typename Sync, typename Fields>
void sync_fields(Sync& sync, Fields&& fields) {
  fields(sync.kind, 32);
  fields(sync.event_id, 32);
  fields(sync.wait_on_stream, 64);
  fields(sync.wait_on_correlation, 64);
}

template <typename Allocation, typename Fields>
void device_allocation_fields(Allocation& allocation, Fields&& fields) {
  fields(allocation.time_ns, 64);
  fields(allocation.address, 64);
  fields(allocation.bytes, 64);
  fields(allocation.correlation, 64);
  fields(allocation.device_type, 8);
  fields(allocation.memory_kind, 8);
  fields(allocation.device_index, 48);
}

template <typename Device, typename Fields>
void device_fields(Device& device, Fields&& fields) {
  fields(device.name, 32);
  fields(device.type, 16);
  fields(device.index, 16);
  fields(device.total_memory_bytes, 64);
  fields(device.compute_major, 32);
  fields(device.compute_minor, 32);
  fields(device.multiprocessors, 32);
  fields(device.warp_size, 32);
  fields(device.max_threads_per_block, 32);
  fields(device.max_threads_per_multiprocessor, 32);
  fields(device.registers_per_block, 32);
  fields(device.registers_per_multiprocessor, 32);
  fields(device.shared_bytes_per_block, 32);
  fields(device.shared_bytes_per_block_optin, 32);
  fields(device.shared_bytes_per_multiprocessor, 32);
  fields(device.clock_khz, 32);
  fields(device.memory_clock_khz, 32);
  fields(device.memory_bus_bits, 32);
}

}  // namespace detail
}  // namespace sonde
