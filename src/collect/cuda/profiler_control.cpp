// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>
#include <vector>

#include "base/new_file.h"
#include "collect/cuda/runtime.h"
#include "sonde/profile/cuda_profiler.h"

namespace sonde::cuda::profiler {
namespace {

constexpr int kFirstWithoutInit = 12000;  // as cudaRuntimeGetVersion counts: 12.0

using Initialize = int(const char* config_file, const char* output_file, int output_mode);

std::string lines_of(const std::vector<std::string>& flags) {
  std::string text;
  for (const std::string& flag : flags) text += (text.empty() ? "" : "\n") + flag;
  return text;
}

// cudaOutputMode_t.
Result<int> mode_number(std::string_view output_mode) {
  if (output_mode == "key_value") return 0;
  if (output_mode == "csv") return 1;
  return Failure(ErrorCode::Invalid, "supported CUDA profiler output modes are: key_value and csv");
}

}  // namespace

std::vector<std::string> default_flags() {
  return {"gpustarttimestamp", "gpuendtimestamp", "gridsize3d",     "threadblocksize",
          "streamid",          "enableonstart 0", "conckerneltrace"};
}

Result<void> start() {
  SONDE_TRY(const Runtime runtime, Runtime::find_or_open());
  return runtime.call("cudaProfilerStart");
}

Result<void> stop() {
  SONDE_TRY(const Runtime runtime, Runtime::find_or_open());
  return runtime.call("cudaProfilerStop");
}

Result<void> init(const std::string& output_file, const std::vector<std::string>& flags,
                  std::string_view output_mode) {
  SONDE_TRY(const Runtime runtime, Runtime::find_or_open());
  if (runtime.version() >= kFirstWithoutInit)
    return Failure(ErrorCode::Unsupported, "CUDA12+ does not need profiler initialization!");
  auto* const initialize = runtime.get<Initialize>("cudaProfilerInitialize");
  if (initialize == nullptr)
    return Failure(ErrorCode::Unsupported, "HIP does not support profiler initialization!");
  SONDE_TRY(const int mode, mode_number(output_mode));
  SONDE_TRY(const TemporaryFile file, TemporaryFile::create("sonde-flags", lines_of(flags)));
  return runtime.check(initialize(file.path().c_str(), output_file.c_str(), mode));
}

}  // namespace sonde::cuda::profiler
