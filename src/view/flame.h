// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "sonde/analyse/host_time.h"

namespace sonde::detail {

// A flame graph that fits in a page: without nodes that would be too narrow to see, and at most
// some thousands. Their time stays in the nodes around them. Parents come before their children.
std::vector<FlameNode> flame_for_page(const std::vector<FlameNode>& all);

}  // namespace sonde::detail
