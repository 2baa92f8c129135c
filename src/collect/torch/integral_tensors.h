// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What integral tensors hold, for execution traces: indices decide what an operator does, so a
// replay needs them. PyTorch's environment variables ask for it:
//
//   ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE   set: their least and greatest values
//   ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA    names of operators, separated by
//                                                               commas: all values, as files

#include <ATen/record_function.h>

#include <cstdint>
#include <set>
#include <string>

namespace sonde::torch {

class IntegralTensors {
 public:
  // Reads the variables. `trace_path` is the file of the execution trace; data are written beside
  // it, to "x_resources/" for "x.json".
  void begin(const std::string& trace_path);

  // The ranges of the inputs as JSON: {"0":[1,4],"1":[0,1]}; empty if there are none. Writes the
  // data of its inputs, if wanted, to "nid_<node>_tid_<number of the tensor>.dat".
  std::string record(const at::RecordFunction& fn, std::uint64_t node) const;

 private:
  bool wants_ranges_ = false;
  std::set<std::string> with_data_;
  std::string folder_;
};

}  // namespace sonde::torch
