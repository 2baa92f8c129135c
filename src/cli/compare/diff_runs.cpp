// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which files of a command line belong to which run.

#include <algorithm>
#include <filesystem>
#include <regex>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/compare/diff.h"
#include "cli/compare/inputs.h"

namespace sonde::cli {
namespace {

constexpr std::string_view kBaselineSuffix = ".sondebase";

// Files whose names differ only in the number after "rank" have one name.
std::string run_name(const std::string& file) {
  static const std::regex rank("rank[-_]?[0-9]+");
  const std::filesystem::path path(file);
  return (path.parent_path() / std::regex_replace(path.filename().string(), rank, "rank*"))
      .string();
}

// What a trace says of its place in a distributed run.
struct RankPlace {
  std::int32_t rank = -1;
  std::int32_t world_size = 0;
  Nanos first_ns = 0;
  Nanos last_ns = 0;

  bool is_of_several() const { return rank >= 0 && world_size > 1; }
};

RankPlace place_of(const Trace& trace) {
  const ProcessTable& processes = trace.processes();
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (processes.rank[i] >= 0)
      return {processes.rank[i], processes.world_size[i], trace.first_ns(), trace.last_ns()};
  return {};
}

struct RunFiles {
  std::string name;
  std::string folder;
  std::vector<RunSummary> ranks;
  std::vector<RankPlace> places;
  std::vector<std::string> files;

  // Ranks of one run run at the same time, on clocks that may differ a little.
  bool runs_with(const RankPlace& other) const {
    const auto contradicts = [&](const RankPlace& known) {
      return !known.is_of_several() || known.world_size != other.world_size ||
             known.rank == other.rank || known.first_ns > other.last_ns ||
             known.last_ns < other.first_ns;
    };
    return other.is_of_several() && std::none_of(places.begin(), places.end(), contradicts);
  }
};

// The run that a file belongs to: the one of its name, or one that its trace says to be a rank of.
RunFiles& run_of(std::vector<RunFiles>& runs, const std::string& file, const RankPlace& place) {
  const std::string name = run_name(file);
  const std::string folder = std::filesystem::path(file).parent_path().string();
  const bool says_rank = name != file;
  for (RunFiles& run : runs) {
    if (run.name == name) return run;
    if (!says_rank && run.folder == folder && run.runs_with(place)) return run;
  }
  return runs.emplace_back(RunFiles{name, folder, {}, {}, {}});
}

// A folder's traces, or those of its folders.
Result<std::vector<std::string>> files_below(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (entry.is_directory(error)) folders.push_back(entry.path().string());
  std::sort(folders.begin(), folders.end());
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    Result<std::vector<std::string>> inside = trace_files({folder});
    if (inside) files.insert(files.end(), inside->begin(), inside->end());
  }
  Result<std::vector<std::string>> own = trace_files({path});
  if (own) files.insert(files.end(), own->begin(), own->end());
  if (files.empty()) return own;
  return files;
}

}  // namespace

Result<std::vector<RunSummary>> read_runs(const std::vector<std::string>& paths,
                                          const OpenOptions& open, const RunGrouping& grouping) {
  std::vector<RunSummary> runs;
  std::vector<RunFiles> found;
  for (const std::string& path : paths) {
    if (path.ends_with(kBaselineSuffix)) {
      SONDE_TRY(const std::string text, read_file(path));
      Result<std::vector<RunSummary>> kept = parse_baseline(text);
      if (!kept) return Failure(kept.error().code, path + ": " + kept.error().message);
      if (kept->front().grouping != grouping)
        return Failure(ErrorCode::Invalid,
                       path +
                           ": groups operators by other things than this command; record it "
                           "again with the same --group-by options");
      for (const RunSummary& run : *kept)
        if (run.steps == 0 || run.step_mean_ns <= 0)
          return Failure(ErrorCode::Corrupt, path + ": the run '" + run.name + "' has no time");
      runs.insert(runs.end(), kept->begin(), kept->end());
      continue;
    }
    SONDE_TRY(const std::vector<std::string> files, files_below(path));
    for (const std::string& file : files) {
      SONDE_TRY(const Trace trace, open_to_answer(file, open));
      const RankPlace place = place_of(trace);
      RunFiles& run = run_of(found, file, place);
      if (std::find(run.files.begin(), run.files.end(), file) != run.files.end())
        return Failure(ErrorCode::Invalid, file + ": this trace is named twice");
      run.files.push_back(file);
      run.places.push_back(place);
      run.ranks.push_back(run_summary(trace, file, grouping));
      if (run.ranks.back().steps == 0 || run.ranks.back().step_mean_ns <= 0)
        return Failure(ErrorCode::Invalid, file + ": there is nothing to compare in this trace");
    }
  }
  for (const RunFiles& run : found) {
    runs.push_back(joined_ranks(run.ranks));
    runs.back().name = run.name;
  }
  return runs;
}

}  // namespace sonde::cli
