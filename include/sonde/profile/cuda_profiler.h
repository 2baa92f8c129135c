// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// torch.cuda.profiler: tells the tool that watches a CUDA program when to look, as
// `nsys profile -c cudaProfilerApi` waits for it.
//
//   {
//     sonde::cuda::profiler::profile window;    // or start() and stop()
//     net->forward(images);
//   }
//
// The calls go to the CUDA runtime that the process has: any library in it that exports it, torch's
// among them, else the first of libcudart.so.13, .12 and .11.0 that can be opened. Where there is
// none, that is the error. All may be called from any thread.

#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"

namespace sonde::cuda::profiler {

// cudaProfilerStart and cudaProfilerStop. The message of an error is CUDA's own, with its number.
Result<void> start();
Result<void> stop();

// NOLINTNEXTLINE(readability-identifier-naming): the name PyTorch users know
class profile {
 public:
  profile() : started_(start()) {}
  // Stops also what did not start.
  ~profile() { static_cast<void>(stop()); }
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;

  const Result<void>& started() const noexcept { return started_; }

 private:
  Result<void> started_;
};

// What PyTorch asks for if nothing else is said.
std::vector<std::string> default_flags();

// Says where the profiler of CUDA 11 and earlier is to write, and what; later ones need and have no
// such thing, and it is refused. `output_mode` is "key_value" or "csv".
Result<void> init(const std::string& output_file,
                  const std::vector<std::string>& flags = default_flags(),
                  std::string_view output_mode = "key_value");

}  // namespace sonde::cuda::profiler
