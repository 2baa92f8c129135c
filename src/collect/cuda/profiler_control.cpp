// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/file.h"
#include "sonde/cuda_profiler.h"

namespace sonde::cuda::profiler {
namespace {

constexpr const char* kStart = "cudaProfilerStart";
constexpr int kFirstWithoutInit = 12000;  // as cudaRuntimeGetVersion counts: 12.0

using Call = int();
using Initialize = int(const char* config_file, const char* output_file, int output_mode);
using GetVersion = int(int* version);
using GetErrorString = const char*(int code);

// A CUDA runtime in this process. It stays open while somebody asks it.
class Runtime {
 public:
  static Result<Runtime> find() {
    if (::dlsym(RTLD_DEFAULT, kStart) != nullptr) return Runtime(nullptr);
    for (const std::string& path : loaded_libraries()) {
      Runtime loaded(::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD));
      if (loaded.library_ != nullptr && loaded.get<Call>(kStart) != nullptr) return loaded;
    }
    for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
      Runtime opened(::dlopen(name, RTLD_LAZY));
      if (opened.library_ == nullptr) continue;
      // It is the process's runtime from now on.
      static_cast<void>(::dlopen(name, RTLD_LAZY));
      return opened;
    }
    return Failure(ErrorCode::NotFound,
                   "there is no CUDA runtime: this process has loaded none, and libcudart.so.13, "
                   "libcudart.so.12 and libcudart.so.11.0 cannot be opened");
  }
  ~Runtime() {
    if (library_ != nullptr) ::dlclose(library_);
  }
  Runtime(Runtime&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  Runtime& operator=(Runtime&&) = delete;

  template <typename Type>
  Type* get(const char* name) const {
    return reinterpret_cast<Type*>(::dlsym(library_ != nullptr ? library_ : RTLD_DEFAULT, name));
  }

  Result<void> check(int code) const {
    if (code == 0) return {};
    auto* const text_of = get<GetErrorString>("cudaGetErrorString");
    const std::string text = text_of != nullptr ? text_of(code) : "CUDA error";
    return Failure(ErrorCode::Unsupported, text + " (" + std::to_string(code) + ")");
  }

  Result<void> call(const char* name) const {
    auto* const function = get<Call>(name);
    if (function == nullptr)
      return Failure(ErrorCode::NotFound, std::string("the CUDA runtime has no ") + name);
    return check(function());
  }

  int version() const {
    int version = 0;
    auto* const get_version = get<GetVersion>("cudaRuntimeGetVersion");
    return get_version != nullptr && get_version(&version) == 0 ? version : 0;
  }

 private:
  // Null: what the whole program can see.
  explicit Runtime(void* library) : library_(library) {}

  // Those that were opened for somebody alone are not seen otherwise.
  static std::vector<std::string> loaded_libraries() {
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

  void* library_;
};

// The file that the profiler is to read what it writes; gone when this is.
class FlagsFile {
 public:
  static Result<FlagsFile> create(const std::vector<std::string>& flags) {
    const char* const folder = ::getenv("TMPDIR");
    std::string path = folder != nullptr && *folder != '\0' ? folder : "/tmp";
    path += "/sonde-flags-XXXXXX";
    const int fd = ::mkstemp(path.data());
    if (fd < 0) return io_failure(path, "create", errno);
    FlagsFile file(std::move(path));
    std::string text;
    for (const std::string& flag : flags) text += (text.empty() ? "" : "\n") + flag;
    const ssize_t written = ::write(fd, text.data(), text.size());
    const int reason = errno;
    ::close(fd);
    if (written != static_cast<ssize_t>(text.size()))
      return io_failure(file.path_, "write", reason);
    return file;
  }
  ~FlagsFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  FlagsFile(FlagsFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  FlagsFile(const FlagsFile&) = delete;
  FlagsFile& operator=(const FlagsFile&) = delete;
  FlagsFile& operator=(FlagsFile&&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit FlagsFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// cudaOutputMode_t.
Result<int> mode_number(std::string_view output_mode) {
  if (output_mode == "key_value") return 0;
  if (output_mode == "csv") return 1;
  return Failure(ErrorCode::Invalid, "supported CUDA profiler output modes are: key_value and csv");
}

}  // namespace

std::vector<std::string> default_flags() {
  return {"gpustarttimestamp", "gpuendtimestamp", "gridsize3d",     "threadblocksize",
          "streamid",          "enableonstart 0", "conckerneltrace"};
}

Result<void> start() {
  SONDE_TRY(const Runtime runtime, Runtime::find());
  return runtime.call(kStart);
}

Result<void> stop() {
  SONDE_TRY(const Runtime runtime, Runtime::find());
  return runtime.call("cudaProfilerStop");
}

Result<void> init(const std::string& output_file, const std::vector<std::string>& flags,
                  std::string_view output_mode) {
  SONDE_TRY(const Runtime runtime, Runtime::find());
  if (runtime.version() >= kFirstWithoutInit)
    return Failure(ErrorCode::Unsupported, "CUDA12+ does not need profiler initialization!");
  auto* const initialize = runtime.get<Initialize>("cudaProfilerInitialize");
  if (initialize == nullptr)
    return Failure(ErrorCode::Unsupported, "HIP does not support profiler initialization!");
  SONDE_TRY(const int mode, mode_number(output_mode));
  SONDE_TRY(const FlagsFile file, FlagsFile::create(flags));
  return runtime.check(initialize(file.path().c_str(), output_file.c_str(), mode));
}

}  // namespace sonde::cuda::profiler
