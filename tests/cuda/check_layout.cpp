// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CUPTI's own headers against what Sonde knows of its records. Built where there is a CUDA toolkit:
// it need not run.

#include <cupti.h>

#include <cstddef>

#include "collect/cuda/activity_layout.h"

namespace layout = sonde::cuda::layout;

#define SONDE_SAME(record, field, offset) static_assert(offsetof(record, field) == (offset))

using Kernel = CUpti_ActivityKernel9;
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

SONDE_SAME(CUpti_ActivityExternalCorrelation, externalId, layout::ExternalCorrelation::kExternalId);
SONDE_SAME(CUpti_ActivityExternalCorrelation, correlationId,
           layout::ExternalCorrelation::kCorrelation);

#if CUPTI_API_VERSION >= 26
SONDE_SAME(CUpti_ActivitySynchronization2, cudaEventSyncId, layout::Synchronization::kSyncId);
SONDE_SAME(CUpti_ActivityCudaEvent2, deviceId, layout::CudaEvent::kDevice);
SONDE_SAME(CUpti_ActivityCudaEvent2, deviceTimestamp, layout::CudaEvent::kDeviceTime);
SONDE_SAME(CUpti_ActivityCudaEvent2, cudaEventSyncId, layout::CudaEvent::kSyncId);
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
