// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tool for NVTX_INJECTION64_PATH: logs the calls it receives, one line each, to the file in
// COLLECTED.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ranges/nvtx_abi.h"

namespace {

using namespace sonde::nvtx_abi;  // NOLINT(google-build-using-namespace)

thread_local int depth = 0;

void note(const char* what, const char* text = "") {
  const char* const path = std::getenv("COLLECTED");
  std::FILE* const file = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (file == nullptr) return;
  std::fprintf(file, "%s%s\n", what, text);
  std::fclose(file);
}

int push(const char* message) {
  note("push ", message);
  return depth++;
}
int pop() {
  note("pop");
  return --depth;
}
void mark(const char* message) {
  note("mark ", message);
}
RangeId start(const char* message) {
  note("start ", message);
  return 77;
}
void end(RangeId id) {
  note("end ", id == 77 ? "77" : "?");
}

template <typename Type>
void offer(FunctionTable table, unsigned number, Type* function) {
  *table[number] = reinterpret_cast<Function*>(function);
}

// Nsight Compute refuses a program that lacks a module, even one from which it gets no calls.
bool has_all_modules(const CallbacksTable& callbacks) {
  constexpr struct {
    std::int32_t module;
    unsigned count;
  } kModules[] = {{kCore, 16},       {kCuda, 9},   {kOpenCl, 15},
                  {kCudaRuntime, 7}, {kCore2, 16}, {kSync, 7}};
  for (const auto [module, count] : kModules) {
    FunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks.get_module_functions(module, &table, &size) == 0 || size != count) return false;
    for (unsigned i = 1; i < count; ++i) {
      if (table[i] == nullptr) return false;
    }
  }
  return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): NVTX's name
extern "C" int InitializeInjectionNvtx2(GetExportTable* get_table) {
  const auto* const callbacks = static_cast<const CallbacksTable*>(get_table(kCallbacks));
  const auto* const version = static_cast<const VersionTable*>(get_table(kVersionInfo));
  FunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || version == nullptr || version->version != kVersion) return 0;
  if (!has_all_modules(*callbacks)) return 0;
  if (callbacks->get_module_functions(kCore, &table, &size) == 0) return 0;
  offer(table, Core::RangePushA, push);
  offer(table, Core::RangePop, pop);
  offer(table, Core::MarkA, mark);
  offer(table, Core::RangeStartA, start);
  offer(table, Core::RangeEnd, end);
  return 1;
}
