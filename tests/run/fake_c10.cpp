// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fake libc10: its allocators report to a profiler under the same names.

#include "fake_c10.h"

namespace {

int reports = 0;

}  // namespace

namespace c10 {

bool memoryProfilingEnabled() {
  return false;
}

void reportMemoryUsageToProfiler(void* /*address*/, std::int64_t /*bytes*/,
                                 std::size_t /*allocated*/, std::size_t /*reserved*/,
                                 Device /*device*/) {
  ++reports;
}

void reportOutOfMemoryToProfiler(std::int64_t /*bytes*/, std::size_t /*allocated*/,
                                 std::size_t /*reserved*/, Device /*device*/) {
  ++reports;
}

}  // namespace c10

void fake_c10_allocate(std::int64_t bytes) {
  if (!c10::memoryProfilingEnabled()) return;
  static int block = 0;
  c10::reportMemoryUsageToProfiler(&block, bytes, 100, 200, c10::Device{0, -1});
}

void fake_c10_fail(std::int64_t bytes) {
  if (c10::memoryProfilingEnabled())
    c10::reportOutOfMemoryToProfiler(bytes, 100, 200, c10::Device{0, -1});
}

int fake_c10_reports() {
  return reports;
}
