// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compares CUPTI's own headers with what Sonde knows about its records. Needs a CUDA toolkit to
// build; it need not run.

#include <cupti.h>

#include <cstddef>

#include "collect/cuda/activity_layout.h"

namespace layout = sonde::cuda::layout;

#define SONDE_SAME(record, field, offset) static_assert(offsetof(record, field) == (offset))

// CUpti_ActivityKernel8 is of 11.8, 9 of 12.0.
using Kernel = CUpti_ActivityKernel8;
static_assert(offsetof(CUpti_ActivityKernel9, clusterX) == layout::Kernel::kCluster);
SONDE_SAME(Kernel, registersPerThread, layout::Kernel::kRegisters);
SONDE_SAME(Kernel, start, layout::Kernel::kStart);
SONDE_SAME(Kernel, end, layout::Kernel::kEnd);
SONDE_SAME(Kernel, deviceId, layout::Kernel::kDevice);
SONDE_SAME(Kernel, contextId, layout::Kernel::kContext);
SONDE_SAME(Kernel, streamId, layout::Kernel::kStream);
SONDE_SAME(Kernel, gridX, layout::Kernel::kGrid);
SONDE_SAME(Kernel, blockX, layout::Kernel::kBlock);
SONDE_SAME(Kernel, staticSharedMemory, layout::Kernel::kStaticShared);
SONDE_SAME(Kernel, dynamicSharedMemory, layout::Kernel::kDynamicShared);
SONDE_SAME(Kernel, localMemoryPerThread, layout::Kernel::kLocalPerThread);
SONDE_SAME(Kernel, correlationId, layout::Kernel::kCorrelation);
SONDE_SAME(Kernel, name, layout::Kernel::kName);
SONDE_SAME(Kernel, graphNodeId, layout::Kernel::kGraphNode);
SONDE_SAME(Kernel, graphId, layout::Kernel::kGraph);
SONDE_SAME(Kernel, clusterX, layout::Kernel::kCluster);

SONDE_SAME(CUpti_ActivityMemcpy5, copyKind, layout::Memcpy::kCopyKind);
SONDE_SAME(CUpti_ActivityMemcpy5, srcKind, layout::Memcpy::kSourceKind);
SONDE_SAME(CUpti_ActivityMemcpy5, dstKind, layout::Memcpy::kDestinationKind);
SONDE_SAME(CUpti_ActivityMemcpy5, bytes, layout::Memcpy::kBytes);
SONDE_SAME(CUpti_ActivityMemcpy5, start, layout::Memcpy::kStart);
SONDE_SAME(CUpti_ActivityMemcpy5, deviceId, layout::Memcpy::kDevice);
SONDE_SAME(CUpti_ActivityMemcpy5, contextId, layout::Memcpy::kContext);
SONDE_SAME(CUpti_ActivityMemcpy5, streamId, layout::Memcpy::kStream);
SONDE_SAME(CUpti_ActivityMemcpy5, correlationId, layout::Memcpy::kCorrelation);
SONDE_SAME(CUpti_ActivityMemcpy5, graphNodeId, layout::Memcpy::kGraphNode);
SONDE_SAME(CUpti_ActivityMemcpy5, graphId, layout::Memcpy::kGraph);

SONDE_SAME(CUpti_ActivityMemcpyPtoP4, bytes, layout::MemcpyPeer::kBytes);
SONDE_SAME(CUpti_ActivityMemcpyPtoP4, srcDeviceId, layout::MemcpyPeer::kSourceDevice);
SONDE_SAME(CUpti_ActivityMemcpyPtoP4, srcContextId, layout::MemcpyPeer::kSourceContext);
SONDE_SAME(CUpti_ActivityMemcpyPtoP4, dstDeviceId, layout::MemcpyPeer::kDestinationDevice);
SONDE_SAME(CUpti_ActivityMemcpyPtoP4, dstContextId, layout::MemcpyPeer::kDestinationContext);
SONDE_SAME(CUpti_ActivityMemcpyPtoP4, correlationId, layout::MemcpyPeer::kCorrelation);
SONDE_SAME(CUpti_ActivityMemcpyPtoP4, graphNodeId, layout::MemcpyPeer::kGraphNode);
SONDE_SAME(CUpti_ActivityMemcpyPtoP4, graphId, layout::MemcpyPeer::kGraph);

SONDE_SAME(CUpti_ActivityMemset4, value, layout::Memset::kValue);
SONDE_SAME(CUpti_ActivityMemset4, bytes, layout::Memset::kBytes);
SONDE_SAME(CUpti_ActivityMemset4, start, layout::Memset::kStart);
SONDE_SAME(CUpti_ActivityMemset4, deviceId, layout::Memset::kDevice);
SONDE_SAME(CUpti_ActivityMemset4, correlationId, layout::Memset::kCorrelation);
SONDE_SAME(CUpti_ActivityMemset4, memoryKind, layout::Memset::kMemoryKind);
SONDE_SAME(CUpti_ActivityMemset4, graphNodeId, layout::Memset::kGraphNode);
SONDE_SAME(CUpti_ActivityMemset4, graphId, layout::Memset::kGraph);

SONDE_SAME(CUpti_ActivityAPI, cbid, layout::Api::kCallback);
SONDE_SAME(CUpti_ActivityAPI, start, layout::Api::kStart);
SONDE_SAME(CUpti_ActivityAPI, threadId, layout::Api::kThread);
SONDE_SAME(CUpti_ActivityAPI, correlationId, layout::Api::kCorrelation);

SONDE_SAME(CUpti_ActivitySynchronization, type, layout::Synchronization::kType);
SONDE_SAME(CUpti_ActivitySynchronization, start, layout::Synchronization::kStart);
SONDE_SAME(CUpti_ActivitySynchronization, correlationId, layout::Synchronization::kCorrelation);
SONDE_SAME(CUpti_ActivitySynchronization, contextId, layout::Synchronization::kContext);
SONDE_SAME(CUpti_ActivitySynchronization, streamId, layout::Synchronization::kStream);
SONDE_SAME(CUpti_ActivitySynchronization, cudaEventId, layout::Synchronization::kEvent);

SONDE_SAME(CUpti_ActivityCudaEvent, correlationId, layout::CudaEvent::kCorrelation);
SONDE_SAME(CUpti_ActivityCudaEvent, contextId, layout::CudaEvent::kContext);
SONDE_SAME(CUpti_ActivityCudaEvent, streamId, layout::CudaEvent::kStream);
SONDE_SAME(CUpti_ActivityCudaEvent, eventId, layout::CudaEvent::kEvent);

SONDE_SAME(CUpti_ActivityOverhead, overheadKind, layout::Overhead::kOverheadKind);
SONDE_SAME(CUpti_ActivityOverhead, start, layout::Overhead::kStart);
SONDE_SAME(CUpti_ActivityOverhead, end, layout::Overhead::kEnd);

SONDE_SAME(CUpti_ActivityMemory3, memoryOperationType, layout::Memory::kOperation);
SONDE_SAME(CUpti_ActivityMemory3, memoryKind, layout::Memory::kMemoryKind);
SONDE_SAME(CUpti_ActivityMemory3, correlationId, layout::Memory::kCorrelation);
SONDE_SAME(CUpti_ActivityMemory3, address, layout::Memory::kAddress);
SONDE_SAME(CUpti_ActivityMemory3, bytes, layout::Memory::kBytes);
SONDE_SAME(CUpti_ActivityMemory3, timestamp, layout::Memory::kTime);
SONDE_SAME(CUpti_ActivityMemory3, deviceId, layout::Memory::kDevice);
SONDE_SAME(CUpti_ActivityMemory3, contextId, layout::Memory::kContext);
SONDE_SAME(CUpti_ActivityMemory3, streamId, layout::Memory::kStream);

SONDE_SAME(CUpti_ActivityExternalCorrelation, externalKind,
           layout::ExternalCorrelation::kExternalKind);
SONDE_SAME(CUpti_ActivityExternalCorrelation, externalId, layout::ExternalCorrelation::kExternalId);
SONDE_SAME(CUpti_ActivityExternalCorrelation, correlationId,
           layout::ExternalCorrelation::kCorrelation);

#if CUPTI_API_VERSION >= 26
SONDE_SAME(CUpti_ActivitySynchronization2, cudaEventSyncId, layout::Synchronization::kSyncId);
SONDE_SAME(CUpti_ActivityCudaEvent2, deviceId, layout::CudaEvent::kDevice);
SONDE_SAME(CUpti_ActivityCudaEvent2, deviceTimestamp, layout::CudaEvent::kDeviceTime);
SONDE_SAME(CUpti_ActivityCudaEvent2, cudaEventSyncId, layout::CudaEvent::kSyncId);
#endif

// The size of a record, by version.
constexpr std::size_t bytes_of(sonde::cuda::ActivityKind kind, std::uint32_t version) {
  std::size_t bytes = 0;
  for (const layout::RecordBytes& record : layout::kRecordBytes) {
    if (record.kind == kind && version >= record.since) bytes = record.bytes;
  }
  return bytes;
}
using sonde::cuda::ActivityKind;
#define SONDE_SIZE(record, kind, version) \
  static_assert(sizeof(record) == bytes_of(ActivityKind::kind, sonde::cuda::version))

SONDE_SIZE(CUpti_ActivityKernel8, ConcurrentKernel, kCupti118);
SONDE_SIZE(CUpti_ActivityKernel9, ConcurrentKernel, kCupti120);
SONDE_SIZE(CUpti_ActivityMemcpy5, Memcpy, kCupti118);
SONDE_SIZE(CUpti_ActivityMemcpyPtoP4, MemcpyPeer, kCupti118);
SONDE_SIZE(CUpti_ActivityMemset4, Memset, kCupti118);
SONDE_SIZE(CUpti_ActivityAPI, Runtime, kCupti118);
SONDE_SIZE(CUpti_ActivityAPI, Driver, kCupti118);
SONDE_SIZE(CUpti_ActivitySynchronization, Synchronization, kCupti118);
SONDE_SIZE(CUpti_ActivityCudaEvent, CudaEvent, kCupti118);
SONDE_SIZE(CUpti_ActivityOverhead, Overhead, kCupti118);
SONDE_SIZE(CUpti_ActivityMemory3, Memory, kCupti118);
SONDE_SIZE(CUpti_ActivityExternalCorrelation, ExternalCorrelation, kCupti118);
#if CUPTI_API_VERSION >= 26
SONDE_SIZE(CUpti_ActivityOverhead2, Overhead, kCupti122);
SONDE_SIZE(CUpti_ActivityOverhead3, Overhead, kCupti124);
SONDE_SIZE(CUpti_ActivityMemory4, Memory, kCupti126);
SONDE_SIZE(CUpti_ActivityMemcpy6, Memcpy, kCupti128);
SONDE_SIZE(CUpti_ActivitySynchronization2, Synchronization, kCupti128);
SONDE_SIZE(CUpti_ActivityCudaEvent2, CudaEvent, kCupti128);
#endif
#if CUPTI_API_VERSION >= 130000
SONDE_SIZE(CUpti_ActivityKernel10, ConcurrentKernel, kCupti130);
SONDE_SAME(CUpti_ActivityKernel10, clusterX, layout::Kernel::kCluster);
#endif

SONDE_SAME(CUpti_CallbackData, functionName, offsetof(sonde::cuda::CallbackData, function_name));
SONDE_SAME(CUpti_CallbackData, symbolName, offsetof(sonde::cuda::CallbackData, symbol_name));
SONDE_SAME(CUpti_CallbackData, correlationData,
           offsetof(sonde::cuda::CallbackData, correlation_data));
SONDE_SAME(CUpti_CallbackData, correlationId, offsetof(sonde::cuda::CallbackData, correlation_id));

SONDE_SAME(CUpti_ResourceData, resourceDescriptor, offsetof(sonde::cuda::ResourceData, descriptor));
SONDE_SAME(CUpti_GraphData, node, offsetof(sonde::cuda::GraphData, node));
SONDE_SAME(CUpti_GraphData, originalNode, offsetof(sonde::cuda::GraphData, original_node));
static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == sonde::cuda::kGraphNodeCreated);
static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == sonde::cuda::kGraphNodeCloned);

int main() {
  return 0;
}
