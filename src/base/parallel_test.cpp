// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace sonde {
namespace {

TEST(ParallelFor, CallsEveryTaskOnce) {
  std::vector<std::atomic<int>> calls(1000);
  parallel_for(calls.size(), [&](std::size_t i) { ++calls[i]; }, 8);
  for (const auto& c : calls) EXPECT_EQ(c.load(), 1);
}

TEST(ParallelFor, DoesNothingForNoTasks) {
  parallel_for(0, [](std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace sonde
