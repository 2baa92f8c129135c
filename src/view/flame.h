// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "sonde/analyse/host_time.h"

namespace sonde::detail {

// A flame graph as a page can hold it: without nodes that would be too narrow to see, nor more than
// some thousands; their time stays in the nodes around them. Parents stand before their children.
std::vector<FlameNode> flame_for_page(const std::vector<FlameNode>& all);

}  // namespace sonde::detail
