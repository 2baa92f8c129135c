// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/job.h"

#include "analyse/job/job_data.h"
#include "base/format.h"

namespace sonde {

std::string_view to_string(MatchState state) noexcept {
  constexpr std::string_view kNames[kMatchStates] = {"FULLY_MATCHED",
                                                     "COLLECTIVE_TYPE_MISMATCH",
                                                     "SIZE_OR_SYNTAX_MISMATCH",
                                                     "COLLECTIVE_STATE_MISMATCH",
                                                     "COLLECTIVE_DTYPE_MISMATCH",
                                                     "UNDECIDED"};
  return kNames[static_cast<std::size_t>(state)];
}

Result<JobReport> analyse_job(std::vector<RankSummary> ranks, const JobOptions& options) {
  detail::JobData data;
  data.ranks = std::move(ranks);
  SONDE_TRY_VOID(detail::admit(data, options));
  detail::match(data);
  detail::align(data);
  detail::find_roles(data);
  detail::find_followers(data);
  detail::find_waits(data);
  detail::find_causes(data);
  detail::find_slow_groups(data);
  detail::replay_job(data);
  detail::sum_device_work(data);
  for (const JobGroup& group : data.report.groups)
    if (!group.problem.empty())
      data.report.notes.push_back("Not all collectives of group " + group.name +
                                  " are used: " + group.problem + ".");
  if (data.report.pairs_unknown > 0)
    data.report.notes.push_back(
        format_text("Sends and receives ({}): which ranks they are between is not recorded, so "
                    "waits in them are not seen.",
                    data.report.pairs_unknown));
  return std::move(data.report);
}

}  // namespace sonde
