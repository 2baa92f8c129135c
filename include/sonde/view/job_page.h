// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The analysis of a job as a web page: ranks and steps as a heat map, who waited and who held
// others up, and clocks with their errors, in one file that needs no network.
//
//   SONDE_TRY(const std::string page, job_page(job, {"Rank 5 holds the others up."}, "run/"));

#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/job.h"
#include "sonde/result.h"
#include "sonde/view/trace_page.h"

namespace sonde {

// The sentences stand at the top. They, `name` and all names in the job may contain anything.
// Fails only for lack of memory.
Result<std::string> job_page(const JobReport& job, const std::vector<std::string>& sentences,
                             std::string_view name);

// The same as a view of the page of one of its traces.
PageView job_view(const JobReport& job, const std::vector<std::string>& sentences);

}  // namespace sonde
