// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranges/nvtx_tool.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "ranges/nvtx_abi.h"

namespace sonde {
namespace {

using nvtx_abi::Core;
using nvtx_abi::Function;

// The tool's functions, null where it has none, and the array of their addresses that it receives.
template <std::size_t Count>
class Functions {
 public:
  Functions() {
    for (std::size_t i = 1; i < Count; ++i) addresses_[i] = &functions_[i];
  }
  int give(nvtx_abi::FunctionTable* table, unsigned* size) {
    if (table != nullptr) *table = addresses_.data();
    if (size != nullptr) *size = Count;
    return 1;
  }

  template <typename Type>
  Type* get(unsigned number) const {
    return reinterpret_cast<Type*>(functions_[number]);
  }

 private:
  std::array<Function*, Count> functions_ = {};
  std::array<Function**, Count + 1> addresses_ = {};  // the first and the last are null
};

struct NvtxProgram {
  Functions<Core::Count> core;
  Functions<nvtx_abi::Core2::Count> core2;
  Functions<nvtx_abi::kCudaCount> cuda;
  Functions<nvtx_abi::kOpenClCount> open_cl;
  Functions<nvtx_abi::kCudaRuntimeCount> cuda_runtime;
  Functions<nvtx_abi::kSyncCount> sync;
};

// Leaked: scopes may end while the program's statics are destroyed.
NvtxProgram& nvtx_program() {
  static auto* const only = new NvtxProgram;
  return *only;
}

int get_module_functions(std::int32_t module, nvtx_abi::FunctionTable* table, unsigned* size) {
  switch (module) {
    case nvtx_abi::kCore:
      return nvtx_program().core.give(table, size);
    case nvtx_abi::kCore2:
      return nvtx_program().core2.give(table, size);
    case nvtx_abi::kCuda:
      return nvtx_program().cuda.give(table, size);
    case nvtx_abi::kOpenCl:
      return nvtx_program().open_cl.give(table, size);
    case nvtx_abi::kCudaRuntime:
      return nvtx_program().cuda_runtime.give(table, size);
    case nvtx_abi::kSync:
      return nvtx_program().sync.give(table, size);
    default:
      return 0;
  }
}

const void* get_export_table(std::uint32_t table) {
  static const nvtx_abi::CallbacksTable callbacks = {sizeof(callbacks), get_module_functions};
  static const nvtx_abi::VersionTable version = {sizeof(version), nvtx_abi::kVersion, 0,
                                                 [](std::uint32_t) {}};
  if (table == nvtx_abi::kCallbacks) return &callbacks;
  return table == nvtx_abi::kVersionInfo ? &version : nullptr;
}

template <typename Type, typename Default, typename... Arguments>
auto call(unsigned number, Default missing, Arguments... arguments) {
  Type* const function = nvtx_program().core.get<Type>(number);
  return function != nullptr ? function(arguments...) : missing;
}

}  // namespace

NvtxTool::NvtxTool() {
  const char* const path = std::getenv(nvtx_abi::kVariable);
  if (path == nullptr || *path == '\0') return;
  void* const library = ::dlopen(path, RTLD_LAZY);
  if (library == nullptr) return;
  auto* const initialize =
      reinterpret_cast<nvtx_abi::Initialize*>(::dlsym(library, nvtx_abi::kEntry));
  is_there_ = initialize != nullptr && initialize(get_export_table) != 0;
  is_sonde_ = ::dlsym(library, nvtx_abi::kOwnMark) != nullptr;
}

const NvtxTool& NvtxTool::get() {
  static const auto* const only = new NvtxTool;
  return *only;
}

int NvtxTool::push(const char* message) const {
  return call<int(const char*)>(Core::RangePushA, nvtx_abi::kNoDepth, message);
}

int NvtxTool::pop() const {
  return call<int()>(Core::RangePop, nvtx_abi::kNoDepth);
}

std::uint64_t NvtxTool::start(const char* message) const {
  return call<nvtx_abi::RangeId(const char*)>(Core::RangeStartA, nvtx_abi::RangeId{0}, message);
}

void NvtxTool::end(std::uint64_t range) const {
  auto* const function = nvtx_program().core.get<void(nvtx_abi::RangeId)>(Core::RangeEnd);
  if (function != nullptr) function(range);
}

void NvtxTool::mark(const char* message) const {
  auto* const function = nvtx_program().core.get<void(const char*)>(Core::MarkA);
  if (function != nullptr) function(message);
}

}  // namespace sonde
