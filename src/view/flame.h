// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "sonde/analyse/host_time.h"

namespace sonde::detail {

// Without the level of threads: equal paths of all threads are one.
std::vector<FlameNode> with_threads_joined(const std::vector<FlameNode>& all);

// A flame graph small enough for a page: at most some thousands of nodes, none too narrow to see.
// The time of nodes that are left out stays in the nodes around them. Parents come before their
// children.
std::vector<FlameNode> flame_for_page(const std::vector<FlameNode>& all);

}  // namespace sonde::detail
