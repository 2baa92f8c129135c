// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Independent tasks on all cores.

#include <cstddef>
#include <functional>

namespace sonde {

// Calls task(0) … task(count - 1), each once, on up to as many threads as there are cores (or
// `threads`, if not 0), the calling one among them; returns when all are done. Tasks must not
// throw.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task,
                  unsigned threads = 0);

}  // namespace sonde
