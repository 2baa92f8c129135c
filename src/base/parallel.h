// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Runs independent tasks on all cores.

#include <cstddef>
#include <functional>

namespace sonde {

// Calls task(0) … task(count - 1), each once, and returns when all are done. Uses up to as many
// threads as there are cores (or `threads`, if not 0), including the calling one. If tasks throw,
// for example because memory runs out, the others still run, and then the first exception is thrown
// here.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task,
                  unsigned threads = 0);

}  // namespace sonde
