// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};

// NOLINTBEGIN(readability-identifier-naming): c10's names
bool memoryProfilingEnabled();
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device);
void reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 Device device);
// NOLINTEND(readability-identifier-naming)

}  // namespace c10

void fake_c10_allocate(std::int64_t bytes);
void fake_c10_fail(std::int64_t bytes);
// How often c10's own functions were called.
int fake_c10_reports();
