// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "sonde/trace.h"

namespace sonde::detail {

// "[[64, 3], []]": the sizes of each input, [] for anything but a tensor; "[]" for an invalid list.
std::string shapes_text(const Trace& trace, ArgumentListId list);

}  // namespace sonde::detail
