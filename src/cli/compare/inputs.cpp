// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/compare/inputs.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace sonde::cli {

bool is_trace_name(const std::string& path) {
  constexpr std::string_view kSuffixes[] = {".sonde", ".json", ".json.gz", ".sqlite"};
  return std::any_of(std::begin(kSuffixes), std::end(kSuffixes),
                     [&](std::string_view suffix) { return path.ends_with(suffix); });
}

Result<std::vector<std::string>> trace_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path, error))
      if (is_trace_name(entry.path().string())) found.push_back(entry.path().string());
    if (found.empty())
      return Failure(ErrorCode::NotFound,
                     path + ": there are no traces in this folder (.sonde, .json, .json.gz)");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace sonde::cli
