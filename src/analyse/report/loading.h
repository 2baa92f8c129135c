// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "sonde/analyse/report.h"

namespace sonde::detail {

// What the program marks as loading data, on the threads that run its steps. A mark inside another
// one does not count again.
std::vector<SpanId> loading_spans(const Report& report);

}  // namespace sonde::detail
