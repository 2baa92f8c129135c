// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Sees what torch's allocators report, whichever library is loaded first.
//
// c10's allocators call functions of c10 to ask whether a profiler is interested, and to report to
// it. These calls go through the dynamic linker, which takes the first definition it finds. This
// file defines the same functions. It is part of every Sonde library that may come before c10:
// `Sonde::torch` in programs that link it, the preload library in all others. Our functions report
// to Sonde and then call c10's, so torch's own profiler still sees everything.
//
// Uses neither torch's headers nor the C++ library, because the preload library must not.

#include <cstddef>
#include <cstdint>

namespace sonde::torch {

// Has the layout and calling convention of c10::Device.
struct MemoryDevice {
  std::int8_t type;
  std::int8_t index;
};

// `bytes` is negative for a free. A failed allocation has no address.
using MemoryReport = void(void* address, std::int64_t bytes, std::size_t total_allocated,
                          std::size_t total_reserved, MemoryDevice device, bool failed);

}  // namespace sonde::torch

// The function to report to; null if there is none. If several libraries of a process define it,
// the linker gives them all the one of the first library, whose functions are the ones that are
// called. Read and write it atomically.
extern "C" __attribute__((visibility("default"))) sonde::torch::MemoryReport* sonde_memory_report;
