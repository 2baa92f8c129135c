// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tracing costs a kernel launch: 1000 rounds of 400 launches of an empty kernel, on one core:
// few enough for the queue, so that nobody waits for the device.
//
//   cuda_launches MODE    none, kineto: with the set of CUPTI's records that Kineto asks for,
//                         residue: after kernels were recorded and are no more
//
// Under `sonde run --gpu=LEVEL -- cuda_launches none` it shows what Sonde costs. bench/cuda.sh runs
// all of them, each in a process of its own.

#include <cuda_runtime.h>
#include <cupti.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void empty() {}

namespace {

void request(uint8_t** buffer, size_t* size, size_t* most) {
  *size = 4 << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}
void complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) {
  std::free(buffer);
}

void enable_kineto_set() {
  cuptiActivityRegisterCallbacks(request, complete);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
        CUPTI_ACTIVITY_KIND_OVERHEAD})
    cuptiActivityEnable(kind);
}

double launch_ns(int launches, bool tag) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) {
    if (tag) cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, i);
    empty<<<1, 1>>>();
    uint64_t id;
    if (tag) cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  cudaDeviceSynchronize();
  return took.count() / launches;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "none";
  const bool kineto = std::strcmp(mode, "kineto") == 0;
  cudaFree(nullptr);
  if (kineto) enable_kineto_set();
  if (std::strcmp(mode, "residue") == 0) {
    cuptiActivityRegisterCallbacks(request, complete);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    launch_ns(1000, false);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityFlushAll(1);
  }
  // Threads that CUDA and tracers have started by now stay where they are.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(3, &one);
  sched_setaffinity(0, sizeof(one), &one);
  for (int i = 0; i < 25; ++i) launch_ns(400, kineto);
  std::vector<double> rounds;
  for (int i = 0; i < 1000; ++i) rounds.push_back(launch_ns(400, kineto));
  std::sort(rounds.begin(), rounds.end());
  std::printf("%-16s %6.0f least %6.0f 10%% %6.0f median ns a launch\n", argc > 2 ? argv[2] : mode,
              rounds[0], rounds[100], rounds[500]);
  return 0;
}
