// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/runtime.h"

#include <link.h>

#include <string>
#include <vector>

namespace sonde::cuda {
namespace {

// A library that has this function is a CUDA runtime.
constexpr const char* kSign = "cudaProfilerStart";

using Call = int();

// Libraries that were loaded with local scope are found only this way.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          static_cast<std::vector<std::string>*>(found)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

}  // namespace

std::optional<Runtime> Runtime::find() {
  if (::dlsym(RTLD_DEFAULT, kSign) != nullptr) return Runtime(nullptr);
  for (const std::string& path : loaded_libraries()) {
    Runtime loaded(::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD));
    if (loaded.library_ != nullptr && loaded.get<Call>(kSign) != nullptr) return loaded;
  }
  return std::nullopt;
}

Result<Runtime> Runtime::find_or_open() {
  if (std::optional<Runtime> found = find()) return *std::move(found);
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
    Runtime opened(::dlopen(name, RTLD_LAZY));
    if (opened.library_ == nullptr) continue;
    // Opened a second time, so that it stays loaded for the rest of the process.
    static_cast<void>(::dlopen(name, RTLD_LAZY));
    return opened;
  }
  return Failure(ErrorCode::NotFound,
                 "no CUDA runtime found: this process has not loaded one, and libcudart.so.13, "
                 "libcudart.so.12 and libcudart.so.11.0 cannot be opened");
}

Result<void> Runtime::check(int code) const {
  if (code == 0) return {};
  auto* const text_of = get<const char*(int)>("cudaGetErrorString");
  const std::string text = text_of != nullptr ? text_of(code) : "CUDA error";
  return Failure(ErrorCode::Unsupported, text + " (" + std::to_string(code) + ")");
}

Result<void> Runtime::call(const char* name) const {
  auto* const function = get<Call>(name);
  if (function == nullptr)
    return Failure(ErrorCode::NotFound, std::string("the CUDA runtime has no ") + name);
  return check(function());
}

int Runtime::version() const {
  int version = 0;
  auto* const get_version = get<int(int*)>("cudaRuntimeGetVersion");
  return get_version != nullptr && get_version(&version) == 0 ? version : 0;
}

}  // namespace sonde::cuda
