// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Independent tasks on all cores.

#include <cstddef>
#include <functional>

namespace sonde {

// Calls task(0) … task(count - 1), each once, on up to as many threads as there are cores (or
// `threads`, if not 0), the calling one among them; returns when all are done. If tasks throw, as
// for want of memory, the others are still called, and then the first exception is thrown here.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task,
                  unsigned threads = 0);

}  // namespace sonde
