// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An NVTX tool that tags CUDA calls: for each range that a program pushes, it uses CUPTI's external
// correlation, so that CUPTI's records say in which range each call was made. Kineto joins work and
// operators this way; Sonde does not. check_links.py compares the two. With
// NVTX_INJECTION64_PATH=libtag_ranges.so, lines go to the file in TAG_RANGES_FILE:
//
//   ID START_NS NAME

#include <dlfcn.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "ranges/nvtx_abi.h"

namespace {

using namespace sonde::nvtx_abi;

constexpr std::uint32_t kCustom = 3;  // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0

// The CUPTI that the process has loaded already.
template <typename Function>
Function cupti(const char* name) {
  for (const char* library : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"}) {
    if (void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD))
      return reinterpret_cast<Function>(::dlsym(loaded, name));
  }
  return nullptr;
}

std::FILE* file() {
  static std::FILE* const opened = [] {
    const char* const path = std::getenv("TAG_RANGES_FILE");
    return path != nullptr ? std::fopen(path, "we") : nullptr;
  }();
  return opened;
}

// For each open range of this thread, whether CUPTI knows it.
thread_local std::vector<bool> told;

bool tell_begin(const char* name) {
  static std::atomic<std::uint64_t> last{0};
  const auto push =
      cupti<int (*)(std::uint32_t, std::uint64_t)>("cuptiActivityPushExternalCorrelationId");
  const std::uint64_t id = ++last;
  if (push == nullptr || file() == nullptr || push(kCustom, id) != 0) return false;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::fprintf(file(), "%" PRIu64 " %" PRId64 " %s\n", id,
               std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec, name);
  return true;
}

int push_range(const char* name) {
  told.push_back(tell_begin(name));
  return static_cast<int>(told.size()) - 1;
}

int pop_range() {
  if (told.empty()) return kNoDepth;
  if (told.back()) {
    const auto pop =
        cupti<int (*)(std::uint32_t, std::uint64_t*)>("cuptiActivityPopExternalCorrelationId");
    std::uint64_t id = 0;
    if (pop != nullptr) pop(kCustom, &id);
  }
  told.pop_back();
  return static_cast<int>(told.size());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): NVTX's name
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    GetExportTable* get_table) {
  const auto* const callbacks = static_cast<const CallbacksTable*>(get_table(kCallbacks));
  FunctionTable functions = nullptr;
  unsigned count = 0;
  if (callbacks == nullptr || callbacks->get_module_functions(kCore, &functions, &count) == 0 ||
      count <= Core::RangePop)
    return 0;
  *functions[Core::RangePushA] = reinterpret_cast<Function*>(push_range);
  *functions[Core::RangePop] = reinterpret_cast<Function*>(pop_range);
  return 1;
}
