// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The windows of a recording. Kineto writes four consecutive events for each: a span in a process
// of its own, a row that sorts that process, and two instants. If they have the values that Kineto
// gives them, they become one row of windows, and their lines are not drawn.

#include <cstdint>
#include <string>
#include <vector>

#include "convert/kineto/read/staged.h"

namespace sonde {

struct FoundWindow {
  std::int64_t start = 0;  // relative to the file's base
  std::int64_t end = 0;
  std::int64_t closed = 0;
  std::string name;
  std::string operator_count;  // JSON; empty if it is 0
};

// What is not drawn, for each stretch.
struct Hidden {
  std::vector<std::vector<bool>> metas;
  std::vector<std::vector<bool>> tracks;
  std::vector<std::vector<bool>> instants;
};

// Finds the windows and marks their spans as hidden in the stretches.
std::vector<FoundWindow> find_windows(std::vector<Staged>& stretches, Hidden& hidden);

}  // namespace sonde
