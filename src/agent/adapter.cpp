// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/adapter.h"

#include <dlfcn.h>

#include <utility>

#include "agent/adapter_name.h"
#include "agent/elf_file.h"
#include "agent/run_environment.h"

namespace sonde {
namespace {

bool is_of_torch(const std::string& library) {
  return library.rfind("libtorch", 0) == 0 || library.rfind("libc10", 0) == 0;
}

bool is_loaded(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

// Checks an adapter whose name says which torch it is for.
Result<void> check_name(const std::string& path, const std::string& torch_library) {
  const auto name = adapter_name_of(path);
  if (!name) return {};
  SONDE_TRY(const std::string key, torch_library_key(torch_library));
  if (name->library_key == key) return {};
  return Failure(ErrorCode::Unsupported,
                 path + ": was built for another torch (" + name->torch_version + ")");
}

Result<void> check_fits(const std::string& path, const std::string& torch_library) {
  SONDE_TRY_VOID(check_name(path, torch_library));
  SONDE_TRY(const ElfFacts facts, read_elf(path));
  for (const std::string& library : facts.needed) {
    if (!is_of_torch(library) || is_loaded(library)) continue;
    std::string message = path;
    message.append(": was built for another torch (").append(library).append(")");
    return Failure(ErrorCode::Unsupported, std::move(message));
  }
  return {};
}

Failure loader_failure(const std::string& path) {
  const char* const reason = ::dlerror();
  return {ErrorCode::Io, reason != nullptr ? reason : path + ": cannot be opened"};
}

Result<void> attach(const std::string& path, const std::string& torch_library) {
  SONDE_TRY_VOID(check_fits(path, torch_library));
  return attach_library(path);
}

}  // namespace

Result<void> attach_library(const std::string& path) {
  // RTLD_LOCAL, as Python does: libtorch must not become visible to the whole program.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return loader_failure(path);
  auto* const entry = reinterpret_cast<AdapterEntry*>(::dlsym(library, kAdapterEntry));
  if (entry == nullptr) return loader_failure(path);
  if (const int failed = entry(); failed != 0) {
    return Failure(ErrorCode::Unsupported,
                   path + ": could not attach, code " + std::to_string(failed));
  }
  return {};
}

Result<void> attach_adapter(const std::vector<std::string>& paths,
                            const std::string& torch_library) {
  std::string reasons;
  for (const std::string& path : paths) {
    const Result<void> attached = attach(path, torch_library);
    if (attached) return {};
    reasons += (reasons.empty() ? "" : "; ") + attached.error().message;
  }
  if (reasons.empty()) reasons = "it has no adapter";
  return Failure(ErrorCode::NotFound, torch_library + " is not recorded: " + reasons);
}

}  // namespace sonde
