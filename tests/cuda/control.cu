// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Six kernels, to show that other tools can be switched on for some of them: two inside sonde::cuda::profiler, three inside a scope that emit_nvtx shows to NVTX, one outside both.

#include <cuda_runtime.h>

#include <cstdio>

#include "sonde/profile/cuda_profiler.h"
#include "sonde/profile/ranges.h"
#include "sonde/record.h"

__global__ void in_window() {}
__global__ void in_scope() {}
__global__ void outside() {}

int main() {
  cudaFree(nullptr);
  {
    const sonde::emit_nvtx emit;
    SONDE_SCOPE("told");
    for (int i = 0; i < 3; ++i) in_scope<<<1, 1>>>();
    cudaDeviceSynchronize();
  }
  outside<<<1, 1>>>();
  // Last: once stopped, tools record nothing more.
  const sonde::cuda::profiler::profile window;
  if (!window.started()) {
    std::fprintf(stderr, "control: %s\n", window.started().error().message.c_str());
    return 1;
  }
  in_window<<<1, 1>>>();
  in_window<<<1, 1>>>();
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
