// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which files of a command line belong to which run.

#include <filesystem>
#include <map>
#include <regex>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/compare/diff.h"
#include "cli/compare/inputs.h"

namespace sonde::cli {
namespace {

constexpr std::string_view kBaselineSuffix = ".sondebase";

// Files that differ in the number after "rank" alone are one run.
std::string run_name(const std::string& file) {
  static const std::regex rank("rank[-_]?[0-9]+");
  const std::filesystem::path path(file);
  return (path.parent_path() / std::regex_replace(path.filename().string(), rank, "rank*"))
      .string();
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
  std::vector<std::string> order;
  std::map<std::string, std::vector<RunSummary>> ranks;
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
      std::vector<RunSummary>& of_run = ranks[run_name(file)];
      if (of_run.empty()) order.push_back(run_name(file));
      of_run.push_back(run_summary(trace, file, grouping));
      if (of_run.back().steps == 0 || of_run.back().step_mean_ns <= 0)
        return Failure(ErrorCode::Invalid, file + ": there is nothing to compare in this trace");
    }
  }
  for (const std::string& name : order) {
    runs.push_back(joined_ranks(ranks[name]));
    runs.back().name = name;
  }
  return runs;
}

}  // namespace sonde::cli
