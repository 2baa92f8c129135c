// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a span's name says about captured graphs.

#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

enum class GraphMark : std::uint8_t {
  None,            // an ordinary operator
  Frame,           // a frame compiled by torch.compile: it calls graphs
  GraphCall,       // a graph of torch.compile
  GradientCall,    // a graph of its gradient
  Script,          // a function of TorchScript
  ScriptGradient,  // the gradient of a part of such a function
  CudaGraph,       // the launch of a CUDA graph
  Marked,          // sonde/profile/dynamo_profiler.h
  Guards,          // torch.compile looks for matching code
  Overhead,        // other code of its own
  Wrapper,         // a wrapper around an operator
};

// "0/1" for "Torch-Compiled Region: 0/1"; other names are returned unchanged.
std::string_view frame_name(std::string_view name) noexcept;
// Inductor's mark around every graph it made. torch shows it only to its own profiler.
bool is_inductor_call(std::string_view name) noexcept;
bool is_triton_kernel(std::string_view name) noexcept;

// Examines each name once.
class GraphMarks {
 public:
  explicit GraphMarks(const Trace& trace);
  GraphMark of(SpanId span) const;

 private:
  const Trace& trace_;
  std::vector<GraphMark> of_name_;
};

}  // namespace sonde::detail
