// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
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

TEST(ParallelFor, PassesOnWhatATaskThrowsWhenAllWereCalled) {
  for (const unsigned threads : {1u, 4u}) {
    std::atomic<int> calls{0};
    const auto work = [&](std::size_t i) {
      ++calls;
      if (i % 7 == 3) throw std::bad_alloc();
    };
    EXPECT_THROW(parallel_for(100, work, threads), std::bad_alloc);
    EXPECT_EQ(calls.load(), 100);
  }
}

}  // namespace
}  // namespace sonde
