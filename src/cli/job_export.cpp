// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All ranks of a job in one file for Perfetto, on the clock that `sonde job` finds.

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/progress.h"
#include "sonde/export.h"

namespace sonde::cli {
namespace {

struct RankFile {
  std::int32_t rank = -1;
  std::string path;
};

// Files that were joined, because one process wrote them one after the other, have one row.
std::vector<RankFile> files_of(const JobReport& job, const std::vector<RankFile>& recorded) {
  std::map<std::string, std::int32_t> found;
  for (const JobRank& rank : job.ranks) found.try_emplace(rank.source, rank.rank);
  for (const RankFile& one : recorded)
    if (one.rank >= 0) found.try_emplace(one.path, one.rank);
  std::vector<RankFile> files;
  files.reserve(found.size());
  for (const auto& [path, rank] : found) files.push_back({rank, path});
  std::stable_sort(files.begin(), files.end(),
                   [](const RankFile& a, const RankFile& b) { return a.rank < b.rank; });
  return files;
}

}  // namespace

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
  std::vector<RankFile> recorded;
  recorded.reserve(summaries.ranks.size());
  for (const RankSummary& one : summaries.ranks) recorded.push_back({one.rank, one.source});
  SONDE_TRY(const JobReport job, analyse_job(std::move(summaries.ranks)));
  std::map<std::int32_t, const JobClock*> clocks;
  std::size_t apart = 0;
  for (const JobClock& clock : job.clocks) {
    clocks[clock.rank] = &clock;
    apart += clock.is_aligned ? 0 : 1;
  }
  if (apart > 0)
    say(
        format_text("{}: the clocks of {} ranks could not be joined to the others; their times are "
                    "as recorded",
                    command.file, apart));
  std::vector<JoinedTrace> traces;
  for (const RankFile& file : files_of(job, recorded)) {
    const auto clock = clocks.find(file.rank);
    if (clock == clocks.end()) continue;
    JoinedTrace& one = traces.emplace_back();
    one.name = format_text("rank {}", file.rank);
    if (!clock->second->host.empty()) one.name += ", " + clock->second->host;
    one.clock = {clock->second->offset_ns, clock->second->drift_ppm * 1e-6, clock->second->at_ns};
    one.open = [path = file.path, open = command.open] { return open_trace(path, open); };
  }
  const Progress progress("writing " + command.output);
  return export_perfetto(traces, command.output);
}

}  // namespace sonde::cli
