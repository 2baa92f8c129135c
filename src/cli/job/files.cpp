// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The files of a job.

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/job/job.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestFolder = 3;

bool may_be_trace(const std::string& name) {
  for (const char* const suffix : {".json", ".json.gz", ".sonde", ".sqlite", ".nsys-rep.sqlite"})
    if (name.ends_with(suffix)) return true;
  return false;
}

Result<void> add_folder(const std::string& folder, std::map<std::string, JobFile>& files,
                        bool with_summaries) {
  std::map<std::string, JobFile> traces;
  std::map<std::string, JobFile> summaries;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  if (error) return Failure(ErrorCode::Io, folder + ": cannot be listed: " + error.message());
  for (; at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (error) return Failure(ErrorCode::Io, folder + ": cannot be listed: " + error.message());
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') || at.depth() >= kDeepestFolder) at.disable_recursion_pending();
    std::error_code ignored;
    const bool is_summary = name.ends_with(kSummarySuffix);
    if (name.starts_with('.') || !at->is_regular_file(ignored)) continue;
    if (!is_summary && !may_be_trace(name)) continue;
    (is_summary ? summaries : traces)
        .try_emplace(at->path().string(),
                     JobFile{at->path().string(), at->file_size(ignored), false});
  }
  files.merge(traces.empty() && with_summaries ? summaries : traces);
  return {};
}

std::vector<std::string> matching(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

}  // namespace

Result<std::vector<JobFile>> find_job_files(const std::vector<std::string>& inputs,
                                            bool with_summaries) {
  std::map<std::string, JobFile> files;
  for (const std::string& input : inputs) {
    std::error_code error;
    std::vector<std::string> paths{input};
    if (!fs::exists(input, error)) paths = matching(input);
    if (paths.empty())
      return Failure(ErrorCode::NotFound,
                     input + ": no such file or folder, and no file matches it");
    for (const std::string& path : paths) {
      if (fs::is_directory(path, error)) {
        SONDE_TRY_VOID(add_folder(path, files, with_summaries));
      } else {
        const auto bytes = fs::file_size(path, error);
        files[path] = {path, error ? 0 : bytes, true};
      }
    }
  }
  if (files.empty())
    return Failure(ErrorCode::NotFound,
                   inputs.front() + ": has no traces (.json, .json.gz, .sonde or .sqlite)");
  std::vector<JobFile> sorted;
  sorted.reserve(files.size());
  for (auto& [path, file] : files) sorted.push_back(std::move(file));
  return sorted;
}

}  // namespace sonde::cli
