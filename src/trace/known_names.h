// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Names that PyTorch gives to spans and that mean something, each in one place.

#include <string_view>

namespace sonde {

// The autograd engine's call around a gradient; the gradient's own name follows.
inline constexpr std::string_view kEvaluateFunction = "autograd::engine::evaluate_function: ";
// The gradient that adds to a parameter's .grad.
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";

}  // namespace sonde
