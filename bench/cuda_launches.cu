// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures what tracing costs a kernel launch, in rounds of LAUNCHES launches of an empty kernel.
// 400 are few enough for the queue, so nothing waits for the device. With 100,000, buffers fill,
// are passed on and decoded while the program continues.
//
//   cuda_launches MODE LAUNCHES [checked]
//       none; kernel: with CUPTI's records of kernels; callback: and its callback in the driver,
//       which does nothing; noted: it keeps the time and the correlation, the least that links a
//       kernel to its launch; kineto: with the set of records that Kineto asks for; residue: after
//       the recording of kernels has ended. Checked: each launch is followed by
//       cudaGetLastError(), as in programs that check for errors
//
// It reads core numbers, one per line, moves to that core, and answers with nanoseconds per launch,
// one figure for each round. bench/cuda_turns.py asks one process of each mode in turn, so that all
// of them are measured on the same core within the same moment. Under `sonde run --gpu=LEVEL --
// cuda_launches none LAUNCHES` it shows what Sonde costs.

#include <cuda_runtime.h>
#include <cupti.h>
#include <sched.h>
#include <x86intrin.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

__global__ void empty() {}

namespace {

constexpr int kRounds = 5;

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

void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

struct Note {
  uint64_t ticks;
  uint64_t correlation;
};
Note notes[4096];
uint32_t noted = 0;

void CUPTIAPI note(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  notes[noted++ % 4096] = {__rdtsc(), call.correlationId};
}

void enable_callback(CUpti_CallbackFunc function) {
  CUpti_SubscriberHandle subscriber;
  cuptiSubscribe(&subscriber, function, nullptr);
  for (const auto id :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx})
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

bool is_checked = false;

double launch_ns(int launches, bool tag) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) {
    if (tag) cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, i);
    empty<<<1, 1>>>();
    if (is_checked && cudaGetLastError() != cudaSuccess) std::exit(1);
    uint64_t id;
    if (tag) cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  cudaDeviceSynchronize();
  return took.count() / launches;
}

// Moves only the calling thread: threads of CUDA and of tracers stay free.
void move_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "none";
  const int launches = argc > 2 ? std::atoi(argv[2]) : 400;
  is_checked = argc > 3 && std::string_view(argv[3]) == "checked";
  cudaFree(nullptr);
  if (mode == "kineto") enable_kineto_set();
  if (mode == "callback") enable_callback(ignore);
  if (mode == "noted") enable_callback(note);
  if (mode != "none" && mode != "kineto") enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  if (mode == "residue") {
    launch_ns(1000, false);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityFlushAll(1);
  }
  const bool tag = mode == "kineto";
  for (int i = 0; i < 25; ++i) launch_ns(400, tag);
  for (int core; std::scanf("%d", &core) == 1;) {
    move_to(core);
    launch_ns(200, tag);
    for (int i = 0; i < kRounds; ++i)
      std::printf(i == 0 ? "%.1f" : " %.1f", launch_ns(launches, tag));
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
