// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cudaProfilerStart() and cudaProfilerStop(), and the driver's functions of the same purpose, by
// which programs mark what a tool should record. They are ours: the agent is told, and the call is
// passed on. torch.cuda.profiler and torch.cuda.cudart() come here too.

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "agent/run_environment.h"

namespace {

constexpr int kNoDevice = 100;  // cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE

std::atomic<sonde::OnCapture*> on_capture{nullptr};

void tell_capture(bool begins) {
  if (auto* const tell = on_capture.load(std::memory_order_acquire)) tell(begins ? 1 : 0);
}

struct Wanted {
  const char* library;  // how its file's name begins
  char path[4096];
};

int find_library(dl_phdr_info* info, size_t, void* opaque) {
  auto* const wanted = static_cast<Wanted*>(opaque);
  const char* const slash = ::strrchr(info->dlpi_name, '/');
  const char* const name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (::strncmp(name, wanted->library, ::strlen(wanted->library)) != 0) return 0;
  if (::strlen(info->dlpi_name) >= sizeof(wanted->path)) return 0;
  ::memcpy(wanted->path, info->dlpi_name, ::strlen(info->dlpi_name) + 1);
  return 1;
}

// The function of the library itself. Python loads it so that RTLD_NEXT does not find it.
int pass_on(const char* library, const char* function) {
  Wanted wanted = {library, ""};
  ::dl_iterate_phdr(find_library, &wanted);
  void* const opened =
      wanted.path[0] != '\0' ? ::dlopen(wanted.path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  void* const found = opened != nullptr ? ::dlsym(opened, function) : ::dlsym(RTLD_NEXT, function);
  const int result = found != nullptr ? reinterpret_cast<int (*)()>(found)() : kNoDevice;
  if (opened != nullptr) ::dlclose(opened);
  return result;
}

// What a call takes is not recorded.
int begin_capture(const char* library, const char* function) {
  const int result = pass_on(library, function);
  tell_capture(true);
  return result;
}
int end_capture(const char* library, const char* function) {
  tell_capture(false);
  return pass_on(library, function);
}

}  // namespace

#define SONDE_EXPORT __attribute__((visibility("default")))

extern "C" {

SONDE_EXPORT void sonde_preload_watch_captures(sonde::OnCapture* tell) {
  on_capture.store(tell, std::memory_order_release);  // pairs with tell_capture
}

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
SONDE_EXPORT int cudaProfilerStart() {
  return begin_capture("libcudart.so", "cudaProfilerStart");
}
SONDE_EXPORT int cudaProfilerStop() {
  return end_capture("libcudart.so", "cudaProfilerStop");
}
SONDE_EXPORT int cuProfilerStart() {
  return begin_capture("libcuda.so", "cuProfilerStart");
}
SONDE_EXPORT int cuProfilerStop() {
  return end_capture("libcuda.so", "cuProfilerStop");
}
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
