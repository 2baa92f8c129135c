// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Runs independent tasks on all cores.

#include <array>
#include <cstddef>
#include <functional>

namespace sonde {

// Calls task(0) … task(count - 1), each once, and returns when all are done. Uses up to as many
// threads as there are cores (or `threads`, if not 0), including the calling one. If tasks throw,
// for example because memory runs out, the others still run, and then the first exception is thrown
// here.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task,
                  unsigned threads = 0);

// Calls make(items) until it returns false, which means that these are the last, and use(items)
// with each in order. While some items are used, the next are made. `Items` are reused.
template <typename Items, typename Make, typename Use>
void make_and_use(const Make& make, const Use& use) {
  std::array<Items, 2> items;
  std::size_t made = 0;
  bool has_more = make(items[0]);
  while (has_more) {
    parallel_for(items.size(), [&](std::size_t task) {
      if (task == 0) {
        use(items[made]);
      } else {
        has_more = make(items[1 - made]);
      }
    });
    made = 1 - made;
  }
  use(items[made]);
}

}  // namespace sonde
