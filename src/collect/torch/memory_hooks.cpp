// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/memory_hooks.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define SONDE_SEEN __attribute__((visibility("default")))

SONDE_SEEN sonde::torch::MemoryReport* sonde_memory_report = nullptr;

namespace sonde::torch {
namespace {

// The linker's names of c10's functions. The type of the totals, and with it the name, differs
// between versions of torch.
constexpr const char* kEnabled = "_ZN3c1022memoryProfilingEnabledEv";
constexpr const char* kReportSigned = "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE";
constexpr const char* kReport = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr const char* kFailedSigned = "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE";
constexpr const char* kFailed = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";

int note_path_of_c10(dl_phdr_info* info, std::size_t /*bytes*/, void* path) {
  const char* const slash = ::strrchr(info->dlpi_name, '/');
  const char* const name = slash == nullptr ? info->dlpi_name : slash + 1;
  const bool is_c10 = ::strncmp(name, "libc10.so", 9) == 0;
  if (is_c10) ::strncpy(static_cast<char*>(path), info->dlpi_name, 4095);
  return is_c10 ? 1 : 0;
}

// Finds c10's own function, even if c10 was loaded with local scope, as Python does.
void* find_in_c10(const char* symbol) {
  char path[4096] = "";
  if (::dl_iterate_phdr(note_path_of_c10, path) == 0) return nullptr;
  void* const library = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = ::dlsym(library, symbol);
  ::dlclose(library);
  return found;
}

// Looked up once. If two threads look, both find the same.
template <typename Function>
class InC10 {
 public:
  constexpr explicit InC10(const char* symbol) : symbol_(symbol) {}
  Function* get() {
    Function* function = __atomic_load_n(&function_, __ATOMIC_RELAXED);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(find_in_c10(symbol_));
      __atomic_store_n(&function_, function, __ATOMIC_RELAXED);
    }
    return function;
  }

 private:
  const char* symbol_;
  Function* function_ = nullptr;
};

template <typename Total>
using Report = void(void*, std::int64_t, Total, Total, MemoryDevice);
template <typename Total>
using Failed = void(std::int64_t, Total, Total, MemoryDevice);

InC10<bool()> c10_enabled(kEnabled);
InC10<Report<std::int64_t>> c10_report_signed(kReportSigned);
InC10<Report<std::size_t>> c10_report(kReport);
InC10<Failed<std::int64_t>> c10_failed_signed(kFailedSigned);
InC10<Failed<std::size_t>> c10_failed(kFailed);

MemoryReport* listener() {
  return __atomic_load_n(&sonde_memory_report, __ATOMIC_ACQUIRE);  // pairs with report_memory
}

template <typename Total>
void tell(InC10<Report<Total>>& original, void* address, std::int64_t bytes, Total allocated,
          Total reserved, MemoryDevice device) {
  if (MemoryReport* report = listener()) {
    report(address, bytes, static_cast<std::size_t>(allocated), static_cast<std::size_t>(reserved),
           device, false);
  }
  if (auto* next = original.get()) next(address, bytes, allocated, reserved, device);
}

template <typename Total>
void tell_failed(InC10<Failed<Total>>& original, std::int64_t bytes, Total allocated,
                 Total reserved, MemoryDevice device) {
  if (MemoryReport* report = listener()) {
    report(nullptr, bytes, static_cast<std::size_t>(allocated), static_cast<std::size_t>(reserved),
           device, true);
  }
  if (auto* next = original.get()) next(bytes, allocated, reserved, device);
}

}  // namespace
}  // namespace sonde::torch

namespace c10 {

// NOLINTBEGIN(readability-identifier-naming): c10's names

using Device = sonde::torch::MemoryDevice;

// For the linker these have the same names as c10's, which use c10's own type.
SONDE_SEEN bool memoryProfilingEnabled();
SONDE_SEEN void reportMemoryUsageToProfiler(
    void* address, std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
    Device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
SONDE_SEEN void reportMemoryUsageToProfiler(
    void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
    Device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
SONDE_SEEN void reportOutOfMemoryToProfiler(
    std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
    Device device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE");
SONDE_SEEN void reportOutOfMemoryToProfiler(
    std::int64_t bytes, std::size_t allocated, std::size_t reserved,
    Device device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

bool memoryProfilingEnabled() {
  if (sonde::torch::listener() != nullptr) return true;
  auto* const next = sonde::torch::c10_enabled.get();
  return next != nullptr && next();
}

void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::int64_t allocated,
                                 std::int64_t reserved, Device device) {
  sonde::torch::tell(sonde::torch::c10_report_signed, address, bytes, allocated, reserved, device);
}

void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device) {
  sonde::torch::tell(sonde::torch::c10_report, address, bytes, allocated, reserved, device);
}

void reportOutOfMemoryToProfiler(std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
                                 Device device) {
  sonde::torch::tell_failed(sonde::torch::c10_failed_signed, bytes, allocated, reserved, device);
}

void reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 Device device) {
  sonde::torch::tell_failed(sonde::torch::c10_failed, bytes, allocated, reserved, device);
}

// NOLINTEND(readability-identifier-naming)

}  // namespace c10
