// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/torch_sources.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "agent/adapter_name.h"
#include "base/file.h"
#include "sonde/version.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

// The folders of the sources relative to the libraries: installed, and in a build folder.
constexpr const char* kFoldersFromLibraries[] = {SONDE_ADAPTER_FROM_LIBRARIES,
                                                 "../share/sonde/adapter"};
constexpr const char* kSources = "collect/torch";

bool is_source(const std::string& name) {
  return name.ends_with(".cpp") && !name.ends_with("_test.cpp") && !name.ends_with("_bench.cpp");
}

std::string folder_of_adapter(const std::string& library_folder) {
  for (const char* const below : kFoldersFromLibraries) {
    const fs::path folder = (fs::path(library_folder) / below).lexically_normal();
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) return folder.string();
  }
  return "";
}

// The paths of files by their names in #include lines.
std::map<std::string, std::string> sources_below(const fs::path& root) {
  std::map<std::string, std::string> files;
  std::error_code failed;
  fs::recursive_directory_iterator entry(root, fs::directory_options::follow_directory_symlink,
                                         failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().lexically_relative(root).generic_string();
    if (name.ends_with(".h") || is_source(name)) files.emplace(name, entry->path().string());
  }
  return files;
}

}  // namespace

Result<AdapterSources> adapter_sources(const std::string& library_folder) {
  AdapterSources sources;
  std::map<std::string, std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_of_adapter(library_folder), ignored)) {
    if (!entry.is_directory(ignored)) continue;
    sources.includes.push_back(entry.path().string());
    files.merge(sources_below(entry.path()));
  }
  sources.key = key_of(SONDE_VERSION);
  for (const auto& [name, path] : files) {
    SONDE_TRY(const std::string text, read_file(path));
    sources.key = key_of(text, key_of(name, sources.key));
    if (is_source(name) && name.starts_with(kSources)) sources.files.push_back(path);
  }
  if (sources.files.empty()) {
    return Failure(ErrorCode::NotFound, "the adapter's sources are missing next to " +
                                            library_folder + "; reinstall Sonde completely");
  }
  std::sort(sources.includes.begin(), sources.includes.end());
  return sources;
}

}  // namespace sonde::cli
