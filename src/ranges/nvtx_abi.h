// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How programs and NVTX tools find each other: the part of NVTX version 3's published interface
// that Sonde uses.
//
// The program opens the library that NVTX_INJECTION64_PATH names and calls its
// InitializeInjectionNvtx2 with a function that returns tables. The table of callbacks has, for
// each module, an array of addresses of function pointers. The tool writes its functions there;
// those that it leaves null are not called. The numbers below are indexes into these arrays.

#include <cstddef>
#include <cstdint>

namespace sonde::nvtx_abi {

constexpr const char* kVariable = "NVTX_INJECTION64_PATH";
constexpr const char* kEntry = "InitializeInjectionNvtx2";
// Exported by Sonde's own injection library, so that Sonde recognises it.
constexpr const char* kOwnMark = "sonde_nvtx_injection";

constexpr std::uint32_t kVersion = 3;

using Function = void();
using FunctionTable = Function***;  // an array of addresses of function pointers
using GetExportTable = const void*(std::uint32_t table);
using Initialize = int(GetExportTable* get_table);  // not 0: there is a tool

// Tables.
constexpr std::uint32_t kCallbacks = 1;
constexpr std::uint32_t kVersionInfo = 3;
// Modules. Tools refuse a program that lacks one of them. Sonde calls nothing in those for locks
// and for naming CUDA and OpenCL objects.
constexpr std::int32_t kCore = 1;
constexpr std::int32_t kCuda = 2;
constexpr std::int32_t kOpenCl = 3;
constexpr std::int32_t kCudaRuntime = 4;
constexpr std::int32_t kCore2 = 5;
constexpr std::int32_t kSync = 6;

struct CallbacksTable {
  std::size_t struct_size;
  int (*get_module_functions)(std::int32_t module, FunctionTable* table, unsigned* size);
};
struct VersionTable {
  std::size_t struct_size;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*set_tool_version)(std::uint32_t version);
};

struct Core {
  enum : unsigned {
    MarkEx = 1,
    MarkA,
    MarkW,
    RangeStartEx,
    RangeStartA,
    RangeStartW,
    RangeEnd,
    RangePushEx,
    RangePushA,
    RangePushW,
    RangePop,
    NameCategoryA,
    NameCategoryW,
    NameOsThreadA,
    NameOsThreadW,
    Count
  };
};
struct Core2 {
  enum : unsigned {
    DomainMarkEx = 1,
    DomainRangeStartEx,
    DomainRangeEnd,
    DomainRangePushEx,
    DomainRangePop,
    DomainResourceCreate,
    DomainResourceDestroy,
    DomainNameCategoryA,
    DomainNameCategoryW,
    DomainRegisterStringA,
    DomainRegisterStringW,
    DomainCreateA,
    DomainCreateW,
    DomainDestroy,
    Initialize,
    Count
  };
};

// The values of `Count` for modules in which Sonde calls nothing.
constexpr unsigned kCudaCount = 9;
constexpr unsigned kOpenClCount = 15;
constexpr unsigned kCudaRuntimeCount = 7;
constexpr unsigned kSyncCount = 7;

// Domains, registered strings and resources are objects of the tool.
using Handle = void*;
using RangeId = std::uint64_t;

// EventAttributes::message_type
constexpr std::int32_t kAscii = 1;
constexpr std::int32_t kWide = 2;
constexpr std::int32_t kRegistered = 3;
// EventAttributes::payload_type
constexpr std::int32_t kUint64 = 1;
constexpr std::int32_t kInt64 = 2;
constexpr std::int32_t kDouble = 3;
constexpr std::int32_t kUint32 = 4;
constexpr std::int32_t kInt32 = 5;
constexpr std::int32_t kFloat = 6;

struct EventAttributes {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;  // 0: none
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  union {
    std::uint64_t of_uint64;
    std::int64_t of_int64;
    double of_double;
    std::uint32_t of_uint32;
    std::int32_t of_int32;
    float of_float;
  } payload;
  std::int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    Handle registered;
  } message;
};
static_assert(sizeof(EventAttributes) == 48, "as NVTX has it on 64-bit machines");

// A tool returns this for a pop without a push, or if it does not count.
constexpr int kNoDepth = -2;

}  // namespace sonde::nvtx_abi
