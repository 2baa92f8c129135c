// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// NVTX from a program's side, for machines without its headers: the calls of nvtx_program.cpp under
// their own names. Each goes to the tool in NVTX_INJECTION64_PATH, which the first call loads.

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

// NOLINTBEGIN(readability-identifier-naming,cppcoreguidelines-macro-usage): NVTX's names

using nvtxDomainHandle_t = void*;
using nvtxStringHandle_t = void*;
using nvtxRangeId_t = std::uint64_t;

#define NVTX_VERSION 3
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_REGISTERED = 3 };
enum { NVTX_PAYLOAD_TYPE_INT64 = 2 };

struct nvtxEventAttributes_t {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t colorType;
  std::uint32_t color;
  std::int32_t payloadType;
  std::int32_t reserved0;
  union {
    std::uint64_t ullValue;
    std::int64_t llValue;
    double dValue;
  } payload;
  std::int32_t messageType;
  union {
    const char* ascii;
    const wchar_t* unicode;
    nvtxStringHandle_t registered;
  } message;
};
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE (static_cast<std::uint16_t>(sizeof(nvtxEventAttributes_t)))

namespace nvtx_client {

using Function = void();

// How many slots each module has: CORE, CUDA, OPENCL, CUDART, CORE2, SYNC.
constexpr unsigned kSlots[] = {0, 16, 9, 15, 7, 16, 7};
constexpr int kCore = 1;
constexpr int kCore2 = 5;

struct Instance {
  std::array<std::array<Function*, 16>, 7> modules = {};
  std::array<std::array<Function**, 17>, 7> tables = {};
};

inline Instance& slots() {
  static Instance instance;
  return instance;
}

struct Callbacks {
  std::size_t struct_size;
  int (*get)(int module, Function**** table, unsigned* size);
};

inline int get_table(int module, Function**** table, unsigned* size) {
  Instance& self = slots();
  if (module < 1 || module > 6) return 0;
  *table = self.tables[static_cast<std::size_t>(module)].data();
  *size = kSlots[module];
  return 1;
}

struct Version {
  std::size_t struct_size;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*set_tool_version)(std::uint32_t);
};

inline const void* get_export_table(std::uint32_t id) {
  static const Callbacks callbacks = {sizeof(Callbacks), get_table};
  static const Version version = {sizeof(Version), NVTX_VERSION, 0, [](std::uint32_t) {}};
  if (id == 1) return &callbacks;
  return id == 3 ? &version : nullptr;
}

inline void initialise() {
  Instance& self = slots();
  for (std::size_t module = 1; module < self.modules.size(); ++module) {
    for (std::size_t i = 1; i < kSlots[module]; ++i)
      self.tables[module][i] = &self.modules[module][i];
  }
  const char* const path = std::getenv("NVTX_INJECTION64_PATH");
  void* const library = path != nullptr ? dlopen(path, RTLD_LAZY) : nullptr;
  if (library == nullptr) return;
  using Init = int(const void* (*)(std::uint32_t));
  auto* const init = reinterpret_cast<Init*>(dlsym(library, "InitializeInjectionNvtx2"));
  if (init != nullptr) init(get_export_table);
}

inline Instance& ready() {
  static const bool is_ready = (initialise(), true);
  static_cast<void>(is_ready);
  return slots();
}
inline std::array<Function*, 16>& core() {
  return ready().modules[kCore];
}
inline std::array<Function*, 16>& core2() {
  return ready().modules[kCore2];
}

template <typename Result, typename... Arguments>
Result call(Function* slot, Result missing, Arguments... arguments) {
  auto* const function = reinterpret_cast<Result (*)(Arguments...)>(slot);
  return function != nullptr ? function(arguments...) : missing;
}
template <typename... Arguments>
void call_void(Function* slot, Arguments... arguments) {
  auto* const function = reinterpret_cast<void (*)(Arguments...)>(slot);
  if (function != nullptr) function(arguments...);
}

}  // namespace nvtx_client

inline void nvtxMarkA(const char* message) {
  nvtx_client::call_void(nvtx_client::core()[2], message);
}
inline nvtxRangeId_t nvtxRangeStartA(const char* message) {
  return nvtx_client::call(nvtx_client::core()[5], nvtxRangeId_t{0}, message);
}
inline void nvtxRangeEnd(nvtxRangeId_t range) {
  nvtx_client::call_void(nvtx_client::core()[7], range);
}
inline int nvtxRangePushEx(const nvtxEventAttributes_t* attributes) {
  return nvtx_client::call(nvtx_client::core()[8], -2, attributes);
}
inline int nvtxRangePushA(const char* message) {
  return nvtx_client::call(nvtx_client::core()[9], -2, message);
}
inline int nvtxRangePushW(const wchar_t* message) {
  return nvtx_client::call(nvtx_client::core()[10], -2, message);
}
inline int nvtxRangePop() {
  return nvtx_client::call(nvtx_client::core()[11], -2);
}
inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain,
                                 const nvtxEventAttributes_t* attributes) {
  return nvtx_client::call(nvtx_client::core2()[4], -2, domain, attributes);
}
inline int nvtxDomainRangePop(nvtxDomainHandle_t domain) {
  return nvtx_client::call(nvtx_client::core2()[5], -2, domain);
}
inline void nvtxDomainNameCategoryA(nvtxDomainHandle_t domain, std::uint32_t category,
                                    const char* name) {
  nvtx_client::call_void(nvtx_client::core2()[8], domain, category, name);
}
inline nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  return nvtx_client::call(nvtx_client::core2()[10], nvtxStringHandle_t{nullptr}, domain, text);
}
inline nvtxDomainHandle_t nvtxDomainCreateA(const char* name) {
  return nvtx_client::call(nvtx_client::core2()[12], nvtxDomainHandle_t{nullptr}, name);
}

// NOLINTEND(readability-identifier-naming,cppcoreguidelines-macro-usage)
