// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All ranks of a job in one file for Perfetto, on the clock that `sonde job` finds.

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/job/job.h"
#include "cli/print/progress.h"
#include "sonde/export.h"

namespace sonde::cli {

std::vector<JobTrace> recorded_in(const Summaries& summaries) {
  std::vector<JobTrace> out;
  for (const RankSummary& one : summaries.ranks) {
    JobTrace& trace = out.emplace_back();
    trace.rank = one.rank;
    trace.path = one.source;
  }
  return out;
}

// Files that were joined, because one process wrote them one after the other, have one row.
std::vector<JobTrace> traces_of(const JobReport& job, const std::vector<JobTrace>& recorded) {
  std::map<std::int32_t, const JobClock*> clocks;
  for (const JobClock& clock : job.clocks) clocks[clock.rank] = &clock;
  std::map<std::string, std::int32_t> found;
  for (const JobRank& rank : job.ranks) found.try_emplace(rank.source, rank.rank);
  for (const JobTrace& one : recorded)
    if (one.rank >= 0) found.try_emplace(one.path, one.rank);
  std::vector<JobTrace> out;
  for (const auto& [path, rank] : found) {
    const auto clock = clocks.find(rank);
    if (clock == clocks.end()) continue;
    const JobClock& its = *clock->second;
    out.push_back(
        {rank, its.host, path, {its.offset_ns, its.drift_ppm * 1e-6, its.at_ns, its.error_ns}});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const JobTrace& a, const JobTrace& b) { return a.rank < b.rank; });
  return out;
}

bool names_a_job(const std::string& input) {
  std::error_code error;
  if (std::filesystem::is_directory(input, error)) return true;
  return !std::filesystem::exists(input, error) &&
         input.find_first_of("*?[") != std::string::npos && find_job_files({input}).has_value();
}

Result<void> export_job(const ExportCommand& command) {
  if (!command.output.ends_with(".pftrace"))
    return Failure(ErrorCode::Invalid,
                   command.output + ": a folder or several files can only be written as .pftrace");
  SONDE_TRY(const std::vector<JobFile> files, find_job_files({command.file}));
  JobCommand job_command;
  job_command.open = command.open;
  SONDE_TRY(Summaries summaries, make_summaries(files, job_command));
  for (const std::string& problem : summaries.problems) say(problem + "; left out");
  const std::vector<JobTrace> recorded = recorded_in(summaries);
  SONDE_TRY(const JobReport job, analyse_job(std::move(summaries.ranks)));
  const auto apart = std::count_if(job.clocks.begin(), job.clocks.end(),
                                   [](const JobClock& clock) { return !clock.is_aligned; });
  if (apart > 0)
    say(
        format_text("{}: the clocks of {} ranks could not be joined to the others; their times are "
                    "as recorded",
                    command.file, apart));
  std::vector<JoinedTrace> traces;
  for (const JobTrace& one : traces_of(job, recorded)) {
    JoinedTrace& joined = traces.emplace_back();
    joined.name = format_text("rank {}", one.rank);
    if (!one.host.empty()) joined.name += ", " + one.host;
    joined.clock = one.clock;
    joined.open = [path = one.path, open = command.open] { return open_trace(path, open); };
  }
  const Progress progress("writing " + command.output);
  return export_perfetto(traces, command.output);
}

}  // namespace sonde::cli
