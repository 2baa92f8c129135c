// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/cuda_call_names.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace sonde {

namespace {

struct CallName {
  std::int64_t number;
  std::string_view name;
};

// In the order of their numbers.
constexpr CallName kRuntime[] = {
    {3, "cudaGetDeviceCount"},
    {4, "cudaGetDeviceProperties"},
    {8, "cudaConfigureCall"},
    {9, "cudaSetupArgument"},
    {10, "cudaGetLastError"},
    {11, "cudaPeekAtLastError"},
    {13, "cudaLaunch"},
    {15, "cudaFuncGetAttributes"},
    {16, "cudaSetDevice"},
    {17, "cudaGetDevice"},
    {20, "cudaMalloc"},
    {21, "cudaMallocPitch"},
    {22, "cudaFree"},
    {25, "cudaMallocHost"},
    {26, "cudaFreeHost"},
    {27, "cudaHostAlloc"},
    {30, "cudaMemGetInfo"},
    {31, "cudaMemcpy"},
    {32, "cudaMemcpy2D"},
    {39, "cudaMemcpyToSymbol"},
    {40, "cudaMemcpyFromSymbol"},
    {41, "cudaMemcpyAsync"},
    {44, "cudaMemcpy2DAsync"},
    {47, "cudaMemcpyToSymbolAsync"},
    {49, "cudaMemset"},
    {51, "cudaMemsetAsync"},
    {126, "cudaThreadSynchronize"},
    {129, "cudaStreamCreate"},
    {130, "cudaStreamDestroy"},
    {131, "cudaStreamSynchronize"},
    {132, "cudaStreamQuery"},
    {133, "cudaEventCreate"},
    {134, "cudaEventCreateWithFlags"},
    {135, "cudaEventRecord"},
    {136, "cudaEventDestroy"},
    {137, "cudaEventSynchronize"},
    {138, "cudaEventQuery"},
    {139, "cudaEventElapsedTime"},
    {144, "cudaMemcpy3D"},
    {145, "cudaMemcpy3DAsync"},
    {147, "cudaStreamWaitEvent"},
    {151, "cudaPointerGetAttributes"},
    {152, "cudaHostRegister"},
    {153, "cudaHostUnregister"},
    {160, "cudaMemcpyPeer"},
    {161, "cudaMemcpyPeerAsync"},
    {164, "cudaDeviceReset"},
    {165, "cudaDeviceSynchronize"},
    {198, "cudaStreamCreateWithFlags"},
    {200, "cudaDeviceGetAttribute"},
    {201, "cudaStreamDestroy"},
    {202, "cudaStreamCreateWithPriority"},
    {206, "cudaMallocManaged"},
    {207, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"},
    {210, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"},
    {211, "cudaLaunchKernel"},
    {213, "cudaLaunch_ptsz"},
    {214, "cudaLaunchKernel_ptsz"},
    {215, "cudaMemcpy_ptds"},
    {225, "cudaMemcpyAsync_ptsz"},
    {233, "cudaMemset_ptds"},
    {235, "cudaMemsetAsync_ptsz"},
    {239, "cudaStreamSynchronize_ptsz"},
    {242, "cudaEventRecord_ptsz"},
    {251, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"},
    {252, "cudaMemPrefetchAsync"},
    {254, "cudaMemAdvise"},
    {269, "cudaLaunchCooperativeKernel"},
    {270, "cudaLaunchCooperativeKernel_ptsz"},
    {273, "cudaFuncSetAttribute"},
    {284, "cudaLaunchHostFunc"},
    {310, "cudaGraphInstantiate"},
    {311, "cudaGraphLaunch"},
    {312, "cudaGraphLaunch_ptsz"},
    {315, "cudaStreamBeginCapture"},
    {317, "cudaStreamIsCapturing"},
    {319, "cudaStreamEndCapture"},
    {335, "cudaGraphExecUpdate"},
    {370, "cudaEventRecordWithFlags"},
    {373, "cudaMallocAsync"},
    {375, "cudaFreeAsync"},
    {430, "cudaLaunchKernelExC"},
    {431, "cudaLaunchKernelExC_ptsz"},
    {440, "cudaGetDeviceProperties"},
    {443, "cudaGraphInstantiate"},
    {448, "cudaMemAdvise"},
    {449, "cudaMemPrefetchAsync"},
    {486, "cudaEventElapsedTime"},
};

constexpr CallName kDriver[] = {
    {1, "cuInit"},
    {17, "cuCtxSynchronize"},
    {19, "cuModuleLoadData"},
    {20, "cuModuleLoadDataEx"},
    {21, "cuModuleLoadFatBinary"},
    {22, "cuModuleUnload"},
    {38, "cuMemFreeHost"},
    {39, "cuMemHostAlloc"},
    {115, "cuLaunch"},
    {118, "cuEventCreate"},
    {119, "cuEventRecord"},
    {120, "cuEventQuery"},
    {121, "cuEventSynchronize"},
    {124, "cuStreamCreate"},
    {126, "cuStreamSynchronize"},
    {216, "cuMemsetD8Async"},
    {220, "cuMemsetD32Async"},
    {235, "cuCtxCreate_v2"},
    {243, "cuMemAlloc_v2"},
    {245, "cuMemFree_v2"},
    {249, "cuMemsetD8_v2"},
    {251, "cuMemsetD32_v2"},
    {276, "cuMemcpyHtoD_v2"},
    {277, "cuMemcpyHtoDAsync_v2"},
    {278, "cuMemcpyDtoH_v2"},
    {279, "cuMemcpyDtoHAsync_v2"},
    {280, "cuMemcpyDtoD_v2"},
    {281, "cuMemcpyDtoDAsync_v2"},
    {294, "cuMemAllocHost_v2"},
    {295, "cuStreamWaitEvent"},
    {305, "cuMemcpy"},
    {306, "cuMemcpyAsync"},
    {307, "cuLaunchKernel"},
    {319, "cuMemcpyPeerAsync"},
    {371, "cuMemAllocManaged"},
    {379, "cuMemHostRegister_v2"},
    {386, "cuDevicePrimaryCtxRetain"},
    {442, "cuLaunchKernel_ptsz"},
    {477, "cuLaunchCooperativeKernel"},
    {514, "cuGraphLaunch"},
    {527, "cuLaunchHostFunc"},
    {598, "cuMemAllocAsync"},
    {600, "cuMemFreeAsync"},
    {652, "cuLaunchKernelEx"},
    {653, "cuLaunchKernelEx_ptsz"},
    {678, "cuLibraryLoadData"},
};

template <std::size_t Count>
std::string_view find(const CallName (&names)[Count], std::int64_t number) {
  const auto* found =
      std::lower_bound(std::begin(names), std::end(names), number,
                       [](const CallName& call, std::int64_t n) { return call.number < n; });
  return found != std::end(names) && found->number == number ? found->name : std::string_view();
}

}  // namespace

std::string cuda_call_name(SpanKind kind, std::int64_t number) {
  const bool is_driver = kind == SpanKind::CudaDriver;
  const std::string_view name = is_driver ? find(kDriver, number) : find(kRuntime, number);
  if (!name.empty()) return std::string(name);
  return (is_driver ? "driver call " : "runtime call ") + std::to_string(number);
}

}  // namespace sonde
