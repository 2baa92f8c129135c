// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a trace says about its job in its metadata: process groups (PyTorch's `distributedInfo`),
// and the number of the job.

#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/rank_summary.h"

namespace sonde::detail {

// In the order of creation. Whatever the text is, what can be read of it is read.
std::vector<RankGroup> process_groups(std::string_view distributed_info);

// "[0, 1, 2]" as numbers, ascending; empty if it is cut ("[0, 1, ...]") or no such list.
std::vector<std::int32_t> rank_list(std::string_view text);

// "4711" of {"launcher": "slurm", "id": "4711"}; empty if there is none.
std::string job_id(std::string_view job);

}  // namespace sonde::detail
