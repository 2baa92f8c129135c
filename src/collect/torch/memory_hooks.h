// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Seeing what torch's allocators report, whoever is loaded first.
//
// c10 has functions by which its allocators ask whether a profiler is interested, and report to it.
// They are called through the dynamic linker, which takes the first definition it finds. This file
// defines them too, and is part of every library of ours that may stand before c10: `Sonde::torch`
// in programs that link it, the preload library in those that do not. Ours report to Sonde, then
// call c10's, so that torch's own profiler goes on to see what it would have seen.
//
// Without torch's headers and without the C++ library, for the preload library's sake.

#include <cstddef>
#include <cstdint>

namespace sonde::torch {

// As c10::Device is laid out and passed.
struct MemoryDevice {
  std::int8_t type;
  std::int8_t index;
};

// `bytes` is negative for what was given back. A failed one has no address.
using MemoryReport = void(void* address, std::int64_t bytes, std::size_t total_allocated,
                          std::size_t total_reserved, MemoryDevice device, bool failed);

}  // namespace sonde::torch

// Whom to report to; null: nobody. Of several in one process, the linker gives all libraries the
// one of the library that stands first, whose functions are the ones that are called. Read and
// written atomically.
extern "C" __attribute__((visibility("default"))) sonde::torch::MemoryReport* sonde_memory_report;
