// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The steps of a job: how long they took, and how long each rank waited in them.

#include <algorithm>
#include <map>

#include "analyse/job/job_data.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

class JobStepMeasurer {
 public:
  explicit JobStepMeasurer(JobData& data) : data_(data) {}

  void measure_steps() {
    std::map<std::int64_t, std::vector<JobStepRank>> steps;
    for (const RankSummary& rank : data_.ranks)
      for (const RankStep& step : rank.steps)
        steps[step.number].push_back(
            {.rank = rank.rank, .duration_ns = step.end_ns - step.begin_ns});
    std::vector<double> durations;
    for (auto& [number, ranks] : steps) {
      JobStep step;
      step.number = number;
      std::vector<double> of_ranks;
      for (const JobStepRank& one : ranks) of_ranks.push_back(static_cast<double>(one.duration_ns));
      step.duration_ns = static_cast<Nanos>(median(of_ranks));
      step.ranks = std::move(ranks);
      durations.push_back(static_cast<double>(step.duration_ns));
      data_.report.steps.push_back(std::move(step));
    }
    data_.report.step_ns = static_cast<Nanos>(median(durations));
    std::vector<double> spread = durations;
    const double usual = deviation(spread);
    for (JobStep& step : data_.report.steps)
      step.is_outlier = durations.size() > 3 &&
                        static_cast<double>(step.duration_ns - data_.report.step_ns) >
                            std::max(4 * usual, 0.1 * static_cast<double>(data_.report.step_ns));
    add_step_waits();
    add_up_steps();
    if (data_.report.total_ns > 0) return;
    for (const RankSummary& rank : data_.ranks)
      data_.report.total_ns = std::max(data_.report.total_ns, rank.last_ns - rank.first_ns);
  }

 private:
  // With the time between a step and the next one.
  void add_up_steps() {
    std::map<std::int64_t, std::vector<double>> until_next;
    for (const RankSummary& rank : data_.ranks)
      for (std::size_t i = 0; i < rank.steps.size(); ++i) {
        const RankStep& step = rank.steps[i];
        const bool goes_on = i + 1 < rank.steps.size() && step.number < INT64_MAX &&
                             rank.steps[i + 1].number == step.number + 1 &&
                             rank.steps[i + 1].begin_ns > step.end_ns;
        const Nanos end_ns = goes_on ? rank.steps[i + 1].begin_ns : step.end_ns;
        until_next[step.number].push_back(static_cast<double>(end_ns - step.begin_ns));
      }
    for (auto& [number, of_ranks] : until_next)
      add_to(data_.report.total_ns, static_cast<Nanos>(median(of_ranks)));
  }

  void add_step_waits() {
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<Stretch>> waits;
    for (const Match& match : data_.matches) {
      if (!match.is_usable() || data_.kinds[match.kind].of == CollectiveClass::Send) continue;
      Nanos last_ns = INT64_MIN;
      for (const Member& member : data_.of(match))
        last_ns = std::max(last_ns, data_.start_of(member));
      for (const Member& member : data_.of(match)) {
        const std::uint32_t step = data_.record(member).step;
        if (step == RankCollective::kNoStep) continue;
        const RankSummary& rank = data_.ranks[member.rank];
        waits[{rank.steps[step].number, rank.rank}].emplace_back(
            data_.start_of(member), std::min(last_ns, data_.end_of(member)));
      }
    }
    for (JobStep& step : data_.report.steps)
      for (JobStepRank& rank : step.ranks)
        rank.wait_ns = united_ns(std::move(waits[{step.number, rank.rank}]));
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      Nanos sum_ns = 0;
      for (const RankStep& step : data_.ranks[r].steps) add_to(sum_ns, step.end_ns - step.begin_ns);
      if (!data_.ranks[r].steps.empty())
        data_.report.ranks[r].mean_step_ns =
            sum_ns / static_cast<Nanos>(data_.ranks[r].steps.size());
    }
  }

  JobData& data_;
};

}  // namespace

void measure_job_steps(JobData& data) {
  JobStepMeasurer(data).measure_steps();
}

}  // namespace sonde::detail
