// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "collect/cuda/runtime.h"
#include "sonde/profile/cuda_profiler.h"

namespace sonde::cuda::profiler {
namespace {

constexpr int kFirstWithoutInit = 12000;  // as cudaRuntimeGetVersion counts: 12.0

using Initialize = int(const char* config_file, const char* output_file, int output_mode);

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
  SONDE_TRY(const Runtime runtime, Runtime::find_or_open());
  return runtime.call("cudaProfilerStart");
}

Result<void> stop() {
  SONDE_TRY(const Runtime runtime, Runtime::find_or_open());
  return runtime.call("cudaProfilerStop");
}

Result<void> init(const std::string& output_file, const std::vector<std::string>& flags,
                  std::string_view output_mode) {
  SONDE_TRY(const Runtime runtime, Runtime::find_or_open());
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
