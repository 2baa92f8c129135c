// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde torch build`: builds an adapter for a torch that Sonde was not built with.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "agent/adapter_name.h"
#include "base/format.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print/progress.h"
#include "cli/run/run.h"
#include "cli/setup/python_package.h"
#include "cli/setup/torch_adapters.h"
#include "cli/setup/torch_compile.h"
#include "cli/setup/torch_install.h"
#include "cli/setup/torch_sources.h"

namespace sonde::cli {
namespace {

constexpr int kOldestMajor = 1;
constexpr int kOldestMinor = 13;

Result<TorchInstall> chosen_torch(const TorchBuildCommand& command) {
  if (!command.prefix.empty()) return torch_below({command.prefix});
  if (!command.python.empty()) return torch_of_python(command.python);
  auto of_python = torch_of_python("python3");
  if (of_python) return of_python;
  if (auto of_system = torch_of_system()) return of_system;
  return Failure(
      ErrorCode::NotFound,
      of_python.error().message +
          ", and the system's libraries have none either; choose one with --python or --prefix");
}

Result<void> check_torch_can_be_used(const TorchInstall& torch) {
  if (torch.include.empty() || torch.version.empty()) {
    return Failure(ErrorCode::NotFound,
                   torch.library +
                       ": its headers are missing (include/ATen/record_function.h); for Debian's "
                       "torch, install libtorch-dev");
  }
  char* rest = nullptr;
  const long major = std::strtol(torch.version.c_str(), &rest, 10);
  const long minor = std::strtol(*rest == '.' ? rest + 1 : rest, nullptr, 10);
  if (major < kOldestMajor || (major == kOldestMajor && minor < kOldestMinor)) {
    return Failure(ErrorCode::Unsupported,
                   format_text("{} is torch {}; the oldest that Sonde can record is {}.{}",
                               torch.library, torch.version, kOldestMajor, kOldestMinor));
  }
  return {};
}

Result<void> build_adapter(const TorchInstall& torch, const std::string& folder, Output& out) {
  SONDE_TRY(const AdapterSources sources, adapter_sources(folder));
  SONDE_TRY(const std::string library_key, torch_library_key(torch.library));
  SONDE_TRY(const std::string cache, adapter_cache());
  const std::string path =
      cache + "/" + to_file_name({torch.version, torch.cxx11_abi, library_key, sources.key});
  const std::string what = format_text("torch {} ({})", torch.version, torch.library);
  if (::access(path.c_str(), R_OK) == 0) {
    out.line(format_text("the adapter for {} already exists: {}", what, path));
    return {};
  }
  const auto began = std::chrono::steady_clock::now();
  {
    const Progress progress("compiling the adapter for " + what);
    SONDE_TRY_VOID(compile_adapter(sources, torch, folder, path));
  }
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
  out.line(
      format_text("built the adapter for {} in {}: {}", what, duration_text(took.count()), path));
  const std::vector<std::string> usable = usable_adapters(folder);
  const auto used = std::find_if(usable.begin(), usable.end(), [&](const std::string& adapter) {
    return adapter_fits(adapter, torch);
  });
  out.line(used == usable.end() || *used == path
               ? "`sonde run` will use it"
               : format_text("`sonde run` still uses {}, which also matches", *used));
  return {};
}

// A Sonde that was built without it has adapters all the same.
void give_package(const std::string& python, const std::string& folder, Output& out) {
  const auto give = [&]() -> Result<std::string> {
    SONDE_TRY(const std::string package, python_package_folder(folder));
    return give_package_to(python, package);
  };
  const Result<std::string> given = give();
  given ? out.line(*given) : say(given.error().message);
}

}  // namespace

Result<void> run_torch_build(const TorchBuildCommand& command, Output& out) {
  SONDE_TRY(const TorchInstall torch, chosen_torch(command));
  SONDE_TRY_VOID(check_torch_can_be_used(torch));
  SONDE_TRY(const std::string folder, library_folder());
  SONDE_TRY_VOID(build_adapter(torch, folder, out));
  if (!command.python.empty()) give_package(command.python, folder, out);
  return {};
}

}  // namespace sonde::cli
