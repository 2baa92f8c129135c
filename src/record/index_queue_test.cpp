// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/index_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace sonde::detail {
namespace {

class IndexQueueTest : public ::testing::Test {
 protected:
  void make(std::uint64_t capacity) {
    cells_ = std::make_unique<IndexQueue::Cell[]>(capacity);
    queue.reset(cells_.get(), capacity);
  }
  IndexQueue queue;

 private:
  std::unique_ptr<IndexQueue::Cell[]> cells_;
};

TEST_F(IndexQueueTest, GivesBackWhatCameFirst) {
  make(4);
  for (std::uint32_t value : {7u, 8u, 9u}) ASSERT_TRUE(queue.push(value));
  EXPECT_EQ(queue.size(), 3u);
  std::uint32_t value = 0;
  for (std::uint32_t expected : {7u, 8u, 9u}) {
    ASSERT_TRUE(queue.pop(value));
    EXPECT_EQ(value, expected);
  }
  EXPECT_FALSE(queue.pop(value));
}

TEST_F(IndexQueueTest, RefusesMoreThanItHolds) {
  make(2);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  EXPECT_FALSE(queue.push(3));
  std::uint32_t value = 0;
  ASSERT_TRUE(queue.pop(value));
  EXPECT_TRUE(queue.push(3)) << "what was taken out makes room";
}

TEST_F(IndexQueueTest, KeepsItsOrderRoundAfterRound) {
  make(4);
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(queue.push(i));
    ASSERT_TRUE(queue.push(i + 1'000'000));
    ASSERT_TRUE(queue.pop(value));
    ASSERT_EQ(value, i);
    ASSERT_TRUE(queue.pop(value));
    ASSERT_EQ(value, i + 1'000'000);
  }
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(IndexQueueTest, IsEmptyAfterAReset) {
  make(4);
  ASSERT_TRUE(queue.push(1));
  make(4);
  std::uint32_t value = 0;
  EXPECT_FALSE(queue.pop(value));
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(IndexQueueTest, GivesEachValueToOneOfManyThreads) {
  constexpr std::uint32_t kEach = 20'000;
  constexpr std::uint32_t kPairs = 3;
  make(64);
  std::atomic<std::uint32_t> left{kEach * kPairs};
  std::vector<std::vector<std::uint32_t>> taken(kPairs);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kPairs; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < kEach; ++i) {
          while (!queue.push(t * kEach + i)) std::this_thread::yield();
        }
      });
      threads.emplace_back([&, t] {
        while (left.load() > 0) {
          std::uint32_t value = 0;
          if (!queue.pop(value)) {
            std::this_thread::yield();
            continue;
          }
          taken[t].push_back(value);
          left.fetch_sub(1);
        }
      });
    }
  }
  std::vector<int> seen(kEach * kPairs, 0);
  for (const auto& values : taken) {
    for (const std::uint32_t value : values) ++seen[value];
  }
  EXPECT_EQ(seen, std::vector<int>(kEach * kPairs, 1));
}

}  // namespace
}  // namespace sonde::detail
