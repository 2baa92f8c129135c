// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Arguments and stacks as one readable line.

#include <string>

#include "sonde/trace.h"

namespace sonde::detail {

// `float [8, 128], 0.5, TensorList [[2], [3]]`
std::string arguments_text(const Trace& trace, ArgumentListId list);
// `file.py(3): inner; file.py(7): outer`
std::string stack_text(const Trace& trace, StackId stack);
// `[8, 1, 1]`
std::string triple_text(std::int64_t x, std::int64_t y, std::int64_t z);

}  // namespace sonde::detail
