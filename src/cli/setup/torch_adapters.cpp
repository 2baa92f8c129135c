// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/setup/torch_adapters.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "agent/adapter_name.h"
#include "agent/elf_file.h"
#include "agent/run_environment.h"
#include "cli/setup/torch_sources.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string home_folder() {
  if (std::string home = variable("HOME"); !home.empty()) return home;
  const passwd* const user = ::getpwuid(::getuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

void add_given(std::vector<std::string>& adapters) {
  std::istringstream list(variable(kRunAdapters));
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) adapters.push_back(path);
  }
}

void add_cached(const std::string& library_folder, std::vector<std::string>& adapters) {
  const auto sources = adapter_sources(library_folder);
  const auto folder = adapter_cache();
  // The list of adapters is passed on with colons as separators.
  if (!sources || !folder || folder->find(':') != std::string::npos) return;
  for (const std::string& path : paths_matching(*folder + "/libsonde_torch-*.so")) {
    const auto name = adapter_name_of(path);
    if (name && name->sonde_key == sources->key) adapters.push_back(path);
  }
}

// The torch libraries that an adapter is linked to.
std::vector<std::string> torch_libraries(const std::string& adapter) {
  auto facts = read_elf(adapter);
  if (!facts) return {};
  std::vector<std::string> libraries;
  for (std::string& name : facts->needed) {
    if (name.starts_with("libtorch") || name.starts_with("libc10"))
      libraries.push_back(std::move(name));
  }
  return libraries;
}

}  // namespace

Result<std::string> adapter_cache() {
  std::string caches = variable("XDG_CACHE_HOME");
  if (!caches.starts_with('/')) {
    const std::string home = home_folder();
    if (!home.starts_with('/'))
      return Failure(ErrorCode::NotFound, "no home folder found; set XDG_CACHE_HOME");
    caches = home + "/.cache";
  }
  return caches + "/sonde/torch";
}

std::vector<std::string> usable_adapters(const std::string& library_folder) {
  std::vector<std::string> adapters;
  add_given(adapters);
  const std::string own = library_folder + "/libsonde_torch.so";
  if (::access(own.c_str(), R_OK) == 0) adapters.push_back(own);
  add_cached(library_folder, adapters);
  return adapters;
}

bool adapter_fits(const std::string& adapter, const TorchInstall& torch) {
  if (const auto name = adapter_name_of(adapter))
    return name->library_key == torch_library_key(torch.library).value_or("unknown");
  const std::vector<std::string> libraries = torch_libraries(adapter);
  std::error_code ignored;
  const fs::path folder = fs::weakly_canonical(torch.library, ignored).parent_path();
  return !libraries.empty() &&
         std::all_of(libraries.begin(), libraries.end(), [&](const std::string& library) {
           return fs::exists(folder / library, ignored);
         });
}

std::string adapter_is_for(const std::string& adapter) {
  if (const auto name = adapter_name_of(adapter))
    return "torch " + name->torch_version + ", C++11 ABI " + (name->cxx11_abi ? "1" : "0");
  std::string text;
  for (const std::string& library : torch_libraries(adapter)) {
    if (library.starts_with("libtorch")) text += (text.empty() ? "" : ", ") + library;
  }
  return text.empty() ? "no torch" : text;
}

}  // namespace sonde::cli
