// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Attributes that only some nodes of an execution trace have: the facts of a collective, the file
// of a Triton kernel. Everything that differs between versions of torch is here.

#include <ATen/record_function.h>

#include <string>

#include "collect/torch/node_values.h"

namespace sonde::torch {

// JSON objects, separated by commas; empty unless it is a collective. Call it when the operator
// begins.
std::string collective_attributes(const at::RecordFunction& fn);

struct TritonKernel {
  std::string backend;  // empty if it is not such a kernel
  std::string file;     // without its folder
  c10::IValue stream;
};
TritonKernel triton_kernel_of(const at::RecordFunction& fn);

}  // namespace sonde::torch
