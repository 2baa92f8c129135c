// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tracing costs a kernel launch: rounds of 400 launches of an empty kernel, few enough for the
// queue, so that nobody waits for the device. The rounds go from core to core, because some have
// busy neighbours on the host: every process sees them all.
//
//   cuda_launches MODE [NAME]    none; kernel: with CUPTI's records of kernels; kineto: with the set
//                                of records that Kineto asks for; residue: after kernels were
//                                recorded and are no more
//
// It prints the name and nanoseconds a launch: of the quickest round, the quickest tenth, the
// median. Under `sonde run --gpu=LEVEL -- cuda_launches none` it shows what Sonde costs.
// bench/cuda.sh runs all of them, each in a process of its own.

#include <cuda_runtime.h>
#include <cupti.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
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

void enable(std::initializer_list<CUpti_ActivityKind> kinds) {
  cuptiActivityRegisterCallbacks(request, complete);
  for (const CUpti_ActivityKind kind : kinds) cuptiActivityEnable(kind);
}

void enable_kineto_set() {
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME,
          CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
          CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_OVERHEAD});
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

// The cores that this process may use.
std::vector<int> cores() {
  cpu_set_t allowed;
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return found;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) found.push_back(i);
  }
  return found;
}

// The calling thread alone: those that CUDA and tracers have started stay free.
void move_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

std::vector<double> rounds(bool tag) {
  constexpr int kRoundsOnACore = 4;
  constexpr int kTurns = 5;
  const std::vector<int> all = cores();
  std::vector<double> took;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const int core : all) {
      move_to(core);
      launch_ns(100, tag);
      for (int i = 0; i < kRoundsOnACore; ++i) took.push_back(launch_ns(400, tag));
    }
  }
  std::sort(took.begin(), took.end());
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "none";
  cudaFree(nullptr);
  if (mode == "kineto") enable_kineto_set();
  if (mode == "kernel" || mode == "residue") enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  if (mode == "residue") {
    launch_ns(1000, false);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityFlushAll(1);
  }
  for (int i = 0; i < 25; ++i) launch_ns(400, mode == "kineto");
  const std::vector<double> took = rounds(mode == "kineto");
  std::printf("%s %.0f %.0f %.0f\n", argc > 2 ? argv[2] : mode.data(), took[0],
              took[took.size() / 10], took[took.size() / 2]);
  return 0;
}
