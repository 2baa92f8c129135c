// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The analysis of a job as a web page: ranks and steps as a heat map, who waited and who held
// others up, and clocks with their errors, in one file that needs no network.
//
//   std::ofstream("job.html") << job_page(job, {"Rank 5 holds the others up."}, "run/");

#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/job.h"

namespace sonde {

// The sentences stand at the top. They, `name` and all names in the job may contain anything.
std::string job_page(const JobReport& job, const std::vector<std::string>& sentences,
                     std::string_view name);

}  // namespace sonde
