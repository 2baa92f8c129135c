// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The process groups that a trace lists in its metadata (PyTorch's `distributedInfo`).

#include <string_view>
#include <vector>

#include "sonde/analyse/rank_summary.h"

namespace sonde::detail {

// In the order of creation. Whatever the text is, what can be read of it is read.
std::vector<RankGroup> process_groups(std::string_view distributed_info);

// "[0, 1, 2]" as numbers, ascending; empty if it is cut ("[0, 1, ...]") or no such list.
std::vector<std::int32_t> rank_list(std::string_view text);

}  // namespace sonde::detail
