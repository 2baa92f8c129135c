// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What only some nodes of an execution trace have: a collective's facts, a Triton kernel's file.
// All that differs between versions of torch stands here.

#include <ATen/record_function.h>

#include <string>

#include "collect/torch/node_values.h"

namespace sonde::torch {

// JSON objects with commas between; empty for all but collectives. To be asked while they begin.
std::string collective_attributes(const at::RecordFunction& fn);

struct TritonKernel {
  std::string backend;  // empty: it is none
  std::string file;     // without its folders
  c10::IValue stream;
};
TritonKernel triton_kernel_of(const at::RecordFunction& fn);

}  // namespace sonde::torch
