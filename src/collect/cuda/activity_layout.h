// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The offsets of the fields of CUPTI's records, from CUDA 11.8 on. Records only grow at their end.
// Fields that were added later say since when.

#include <cstddef>
#include <cstdint>

#include "collect/cuda/cupti.h"

namespace sonde::cuda::layout {

struct Kernel {
  static constexpr std::size_t kRegisters = 6, kStart = 16, kEnd = 24, kDevice = 40, kContext = 44,
                               kStream = 48, kGrid = 52, kBlock = 64, kStaticShared = 76,
                               kDynamicShared = 80, kLocalPerThread = 84, kCorrelation = 92,
                               kName = 104, kGraphNode = 144, kGraph = 156, kCluster = 176,
                               kLeast = 188;
};
struct Memcpy {
  static constexpr std::size_t kCopyKind = 4, kSourceKind = 5, kDestinationKind = 6, kBytes = 8,
                               kStart = 16, kEnd = 24, kDevice = 32, kContext = 36, kStream = 40,
                               kCorrelation = 44, kGraphNode = 64, kGraph = 72, kLeast = 76;
};
struct MemcpyPeer {
  static constexpr std::size_t kCopyKind = 4, kSourceKind = 5, kDestinationKind = 6, kBytes = 8,
                               kStart = 16, kEnd = 24, kDevice = 32, kContext = 36, kStream = 40,
                               kSourceDevice = 44, kSourceContext = 48, kDestinationDevice = 52,
                               kDestinationContext = 56, kCorrelation = 60, kGraphNode = 72,
                               kGraph = 80, kLeast = 84;
};
struct Memset {
  static constexpr std::size_t kValue = 4, kBytes = 8, kStart = 16, kEnd = 24, kDevice = 32,
                               kContext = 36, kStream = 40, kCorrelation = 44, kMemoryKind = 50,
                               kGraphNode = 64, kGraph = 72, kLeast = 76;
};
struct Api {
  static constexpr std::size_t kCallback = 4, kStart = 8, kEnd = 16, kThread = 28,
                               kCorrelation = 32, kLeast = 40;
};
struct Synchronization {
  static constexpr std::size_t kType = 4, kStart = 8, kEnd = 16, kCorrelation = 24, kContext = 28,
                               kStream = 32, kEvent = 36, kLeast = 40;
  static constexpr std::size_t kSyncId = 40;  // since 12.8
  static constexpr std::uint32_t kSyncIdSince = kCupti128;
};
struct CudaEvent {
  static constexpr std::size_t kCorrelation = 4, kContext = 8, kStream = 12, kEvent = 16,
                               kLeast = 20;
  static constexpr std::size_t kDevice = 24, kDeviceTime = 40, kSyncId = 48;  // since 12.8
  static constexpr std::uint32_t kSyncIdSince = kCupti128;
};
struct Overhead {
  static constexpr std::size_t kOverheadKind = 4, kStart = 24, kEnd = 32, kLeast = 40;
};
struct Memory {
  static constexpr std::size_t kOperation = 4, kMemoryKind = 8, kCorrelation = 12, kAddress = 16,
                               kBytes = 24, kTime = 32, kDevice = 52, kContext = 56, kStream = 60,
                               kLeast = 64;
};
struct ExternalCorrelation {
  static constexpr std::size_t kExternalKind = 4, kExternalId = 8, kCorrelation = 16, kLeast = 20;
};

// The sizes of records, and the version since which they hold.
struct RecordBytes {
  ActivityKind kind;
  std::uint32_t since;
  std::uint16_t bytes;
};
inline constexpr RecordBytes kRecordBytes[] = {
    {ActivityKind::ConcurrentKernel, kCupti118, 200},
    {ActivityKind::ConcurrentKernel, kCupti120, 208},
    {ActivityKind::ConcurrentKernel, kCupti130, 216},
    {ActivityKind::Memcpy, kCupti118, 88},
    {ActivityKind::Memcpy, kCupti128, 96},
    {ActivityKind::MemcpyPeer, kCupti118, 96},
    {ActivityKind::Memset, kCupti118, 88},
    {ActivityKind::Runtime, kCupti118, 40},
    {ActivityKind::Driver, kCupti118, 40},
    {ActivityKind::Synchronization, kCupti118, 40},
    {ActivityKind::Synchronization, kCupti128, 56},
    {ActivityKind::CudaEvent, kCupti118, 24},
    {ActivityKind::CudaEvent, kCupti128, 56},
    {ActivityKind::Overhead, kCupti118, 40},
    {ActivityKind::Overhead, kCupti122, 48},
    {ActivityKind::Overhead, kCupti124, 56},
    {ActivityKind::Memory, kCupti118, 120},
    {ActivityKind::Memory, kCupti126, 128},
    {ActivityKind::ExternalCorrelation, kCupti118, 24},
};
// From this version on, sizes are not known.
inline constexpr std::uint32_t kFirstUnknown = kCupti131;

}  // namespace sonde::cuda::layout
