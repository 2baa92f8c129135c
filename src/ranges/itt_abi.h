// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How programs and ITT collectors find each other: the part of Intel's published interface that
// Sonde uses.
//
// The program opens the library that INTEL_LIBITTNOTIFY64 names. If it exports __itt_api_init, the
// program passes its list of functions, and the library fills in its own. Older libraries export
// the functions, which are looked up by name.

#include <pthread.h>

#include <cstdint>

namespace sonde::itt_abi {

constexpr const char* kVariable = "INTEL_LIBITTNOTIFY64";
constexpr const char* kEntry = "__itt_api_init";

constexpr std::int32_t kAllGroups = -1;
constexpr std::int32_t kStructureGroup = 1 << 12;

struct Domain {
  volatile std::int32_t flags;  // 0: the collector ignores it
  const char* name;
  void* wide_name;
  std::int32_t extra1;
  void* extra2;
  Domain* next;
};
struct StringHandle {
  const char* text;
  void* wide_text;
  std::int32_t extra1;
  void* extra2;
  StringHandle* next;
};
struct Id {
  std::uint64_t d1;
  std::uint64_t d2;
  std::uint64_t d3;
};

using DomainCreate = Domain*(const char* name);
using StringHandleCreate = StringHandle*(const char* text);
using TaskBegin = void(const Domain* domain, Id task, Id parent, StringHandle* name);
using TaskEnd = void(const Domain* domain);

// A function in a program's list. The last entry has no name.
struct ApiInfo {
  const char* name;
  void** function;  // where the collector writes it
  void* init_function;
  void* null_function;  // what is written there if it has none
  std::int32_t group;
};

// The argument of __itt_api_init.
struct Global {
  unsigned char magic[8];
  unsigned long version_major;
  unsigned long version_minor;
  unsigned long version_build;
  volatile long api_initialized;
  volatile long mutex_initialized;
  volatile long atomic_counter;
  pthread_mutex_t mutex;  // for the lists below
  void* library;
  void* error_handler;
  const char** library_path;
  ApiInfo* functions;
  Global* next;
  void* threads;
  Domain* domains;
  StringHandle* strings;
  std::int32_t state;
  void* counters;
  std::uint32_t trace_events;
  void* histograms;
};
using ApiInit = void(Global* global, std::int32_t groups);

constexpr unsigned char kMagic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
constexpr unsigned long kVersionMajor = 3;
constexpr unsigned long kVersionMinor = 0;

}  // namespace sonde::itt_abi
