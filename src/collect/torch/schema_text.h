// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An operator's schema as torch prints it: "aten::add_(Tensor(a!) self, Scalar alpha=1) ->
// Tensor(a!)".

#include <ATen/core/operator_name.h>

#include <string>

namespace sonde::torch {

// Empty if there is no such operator.
std::string schema_text(const c10::OperatorName& name);

}  // namespace sonde::torch
