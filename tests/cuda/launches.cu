// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A CUDA program without torch that uses many features: streams, events, graphs with and without
// conditional nodes, cooperative and cluster launches, pinned and managed memory, eight threads. It
// prints how often it did what, to compare with the trace.
//
//   launches [launches of each thread, default 100]

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call)                                                                             \
  do {                                                                                          \
    const cudaError_t error = (call);                                                           \
    if (error != cudaSuccess) {                                                                 \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (false)

__global__ void add_one(float* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += 1;
}

__global__ void with_shared(float* data) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void cooperative(float* data) {
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) atomicAdd(data, 1);
}

__global__ void __cluster_dims__(2, 1, 1) clustered(float* data) {
  if (threadIdx.x == 0) atomicAdd(data, 1);
}

__global__ void count_down(cudaGraphConditionalHandle handle, int* left) {
  cudaGraphSetConditional(handle, --*left > 0 ? 1 : 0);
}

struct Counts {
  long kernels = 0, copies = 0, fills = 0, graph_launches = 0, graph_kernels = 0, allocations = 0,
       releases = 0;
};

void on_one_thread(int launches) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float* data;
  CHECK(cudaMallocAsync(&data, 1024 * sizeof(float), stream));
  CHECK(cudaMemsetAsync(data, 0, 1024 * sizeof(float), stream));
  for (int i = 0; i < launches; ++i) add_one<<<4, 256, 0, stream>>>(data, 1024);
  CHECK(cudaFreeAsync(data, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
}

void copies(Counts& counts) {
  constexpr size_t kBytes = 1 << 20;
  std::vector<char> pageable(kBytes);
  char *pinned, *managed, *device;
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaMallocManaged(&managed, kBytes));
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMemcpy(device, pageable.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device, pinned, kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(pinned, device, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(device, device + kBytes / 2, kBytes / 2, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy(managed, device, kBytes, cudaMemcpyDefault));
  CHECK(cudaMemset(device, 7, kBytes));
  counts.copies += 5;
  counts.fills += 1;
  counts.allocations += 3;
  counts.releases += 3;
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));
  CHECK(cudaFree(device));
}

void events_and_special_launches(Counts& counts) {
  cudaStream_t first, second;
  cudaEvent_t event;
  float* data;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CHECK(cudaMalloc(&data, 1024 * sizeof(float)));
  add_one<<<4, 256, 0, first>>>(data, 1024);
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(second, event, 0));
  add_one<<<4, 256, 0, second>>>(data, 1024);
  CHECK(cudaEventRecord(event, second));
  CHECK(cudaEventSynchronize(event));
  void* arguments[] = {&data};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(cooperative), dim3(8), dim3(128),
                                    arguments, 0, first));
  clustered<<<8, 128, 0, first>>>(data);
  constexpr int kShared = 100 << 10;
  CHECK(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  with_shared<<<200, 128, kShared, first>>>(data);
  CHECK(cudaDeviceSynchronize());
  counts.kernels += 5;
  counts.allocations += 1;
  counts.releases += 1;
  CHECK(cudaFree(data));
}

void graphs(Counts& counts) {
  constexpr int kNodes = 10;
  constexpr int kReplays = 5;
  cudaStream_t stream;
  float* data;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&data, 1024 * sizeof(float)));
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kNodes; ++i) add_one<<<4, 256, 0, stream>>>(data, 1024);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < kReplays; ++i) CHECK(cudaGraphLaunch(ready, stream));
  CHECK(cudaStreamSynchronize(stream));
  counts.graph_launches += kReplays;
  counts.graph_kernels += kReplays * kNodes;

  // A loop inside a graph.
  int* left;
  CHECK(cudaMallocManaged(&left, sizeof(int)));
  *left = 3;
  cudaGraph_t outer;
  CHECK(cudaGraphCreate(&outer, 0));
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, outer, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphAddNode(&node, outer, nullptr, nullptr, 0, &params));
#else
  CHECK(cudaGraphAddNode(&node, outer, nullptr, 0, &params));
#endif
  CHECK(cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                      cudaStreamCaptureModeGlobal));
  count_down<<<1, 1, 0, stream>>>(handle, left);
  CHECK(cudaStreamEndCapture(stream, nullptr));
  cudaGraphExec_t loop;
  CHECK(cudaGraphInstantiate(&loop, outer, 0));
  CHECK(cudaGraphLaunch(loop, stream));
  CHECK(cudaStreamSynchronize(stream));
  counts.graph_launches += 1;
  counts.allocations += 2;
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 100;
  constexpr int kThreads = 8;
  Counts counts;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(on_one_thread, launches);
  for (std::thread& thread : threads) thread.join();
  counts.kernels += long{kThreads} * launches;
  counts.fills += kThreads;
  counts.allocations += kThreads;
  counts.releases += kThreads;
  copies(counts);
  events_and_special_launches(counts);
  graphs(counts);
  std::printf("{\"kernels\": %ld, \"copies\": %ld, \"fills\": %ld, \"graph_launches\": %ld, "
              "\"graph_kernels\": %ld, \"allocations\": %ld, \"releases\": %ld}\n",
              counts.kernels, counts.copies, counts.fills, counts.graph_launches,
              counts.graph_kernels, counts.allocations, counts.releases);
  return 0;
}
