// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace sonde::detail {

// Whether an operator of this name that calls no other leaves the data of tensors alone: it makes a
// view, allocates, or asks.
bool leaves_data_alone(std::string_view op) noexcept;

}  // namespace sonde::detail
