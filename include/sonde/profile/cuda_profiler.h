// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// torch.cuda.profiler: starts and stops the tool that watches a CUDA program, such as `nsys profile
// -c cudaProfilerApi`.
//
//   {
//     sonde::cuda::profiler::profile window;    // or start() and stop()
//     net->forward(images);
//   }
//
// The calls go to the CUDA runtime of the process: any loaded library that exports it, including
// torch's, else the first of libcudart.so.13, .12 and .11.0 that can be opened. If there is none,
// the call fails. All functions may be called from any thread.

#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"

namespace sonde::cuda::profiler {

// Call cudaProfilerStart and cudaProfilerStop. An error has CUDA's own message and number.
Result<void> start();
Result<void> stop();

// NOLINTNEXTLINE(readability-identifier-naming): the name PyTorch users know
class profile {
 public:
  profile() : started_(start()) {}
  // Stops even if starting failed.
  ~profile() { static_cast<void>(stop()); }
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;

  const Result<void>& started() const noexcept { return started_; }

 private:
  Result<void> started_;
};

// PyTorch's defaults.
std::vector<std::string> default_flags();

// Sets where and what the profiler of CUDA 11 and earlier writes. Later versions have no such
// profiler, and the call fails. `output_mode` is "key_value" or "csv".
Result<void> init(const std::string& output_file,
                  const std::vector<std::string>& flags = default_flags(),
                  std::string_view output_mode = "key_value");

}  // namespace sonde::cuda::profiler
