// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "record/testing/chunk_memory.h"

namespace sonde::detail {
namespace {

constexpr std::uint64_t kStream = 5;

class PoolTest : public ::testing::Test {
 protected:
  void make(std::uint32_t chunks, const std::vector<std::uint32_t>& held = {}) {
    pool.reset(testing::chunk_memory(chunks), chunks, kStream, held);
  }
  // A chunk as a thread leaves it, with that many one-word records.
  ChunkHeader* take_and_fill(std::uint32_t records) {
    ChunkHeader* chunk = pool.take();
    if (chunk == nullptr) return nullptr;
    chunk->committed = kChunkFirstWord + records * 8;
    chunk->payload_words = 0;
    chunk->state = kChunkEvents;
    return chunk;
  }
  Pool pool;
};

TEST_F(PoolTest, GivesEachChunkOutOnce) {
  make(5);
  std::set<ChunkHeader*> chunks;
  for (int i = 0; i < 5; ++i) chunks.insert(pool.take());
  EXPECT_EQ(chunks.size(), 5u);
  EXPECT_EQ(chunks.count(nullptr), 0u);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.fresh_used(), 5u);
}

TEST_F(PoolTest, KnowsItsChunksByAddressAndNumber) {
  make(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(pool.owns(pool.chunk(i)));
    EXPECT_EQ(pool.index_of(pool.chunk(i)), i);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.chunk(i)) % kChunkBytes, 0u);
  }
  EXPECT_FALSE(pool.owns(pool.chunk(3)));
  EXPECT_FALSE(pool.owns(nullptr));
}

TEST_F(PoolTest, GivesOutAgainWhatIsReleased) {
  make(1);
  ChunkHeader* chunk = take_and_fill(3);
  pool.release(chunk);
  EXPECT_EQ(chunk->state, kChunkFree);
  EXPECT_EQ(pool.free_count(), 1u);
  EXPECT_EQ(pool.take(), chunk);
}

TEST_F(PoolTest, KeepsFullChunksInTheOrderTheyWereRetired) {
  make(2);
  ChunkHeader* first = take_and_fill(1);
  ChunkHeader* second = take_and_fill(1);
  pool.retire(second);
  pool.retire(first);
  EXPECT_EQ(pool.full_count(), 2u);
  EXPECT_EQ(pool.take(), nullptr) << "not a ring: full chunks wait for the drainer";
  EXPECT_EQ(pool.pop_full(), second);
  EXPECT_EQ(pool.pop_full(), first);
  EXPECT_EQ(pool.pop_full(), nullptr);
}

TEST_F(PoolTest, OverwritesTheOldestOfARingAndCountsItsRecords) {
  make(2);
  pool.set_ring(true);
  ChunkHeader* oldest = take_and_fill(7);
  oldest->payload_words = 2;
  pool.retire(oldest);
  pool.retire(take_and_fill(9));
  EXPECT_EQ(pool.take(), oldest);
  EXPECT_EQ(oldest->state, kChunkFree);
  EXPECT_EQ(pool.losses().overwritten, 5u);
  EXPECT_EQ(pool.overwritten_chunks(), 1u);
}

TEST_F(PoolTest, LeavesChunksThatThreadsStillHoldUntilTheyAreReleased) {
  make(3, {0, 2});
  EXPECT_EQ(pool.take(), pool.chunk(1));
  EXPECT_EQ(pool.take(), nullptr);
  pool.release(pool.chunk(2));
  EXPECT_EQ(pool.take(), pool.chunk(2));
}

TEST_F(PoolTest, KnowsWhichChunksWereUsed) {
  make(4, {2});
  EXPECT_FALSE(pool.was_used(0));
  EXPECT_TRUE(pool.was_used(2)) << "whoever held it may release and take it at any time";
  pool.take();
  EXPECT_TRUE(pool.was_used(0));
  EXPECT_FALSE(pool.was_used(3));
}

TEST_F(PoolTest, GivesOutNoMoreThanIsReserved) {
  make(4);
  pool.set_reserved(1);
  EXPECT_EQ(pool.take(), pool.chunk(0));
  EXPECT_EQ(pool.take(), nullptr);
  pool.set_reserved(2);
  EXPECT_EQ(pool.take(), pool.chunk(1));
  EXPECT_EQ(pool.take(), nullptr);
}

TEST_F(PoolTest, GivesOutFirstWhatIsReady) {
  make(4);
  pool.set_reserved(3);
  std::uint32_t first = 9;
  EXPECT_EQ(pool.take_run(2, first), 2u);
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(pool.take(), pool.chunk(2)) << "nobody has a chunk while it is made ready";
  EXPECT_EQ(pool.take(), nullptr);
  pool.offer(0);
  pool.offer(1);
  EXPECT_EQ(pool.free_count(), 2u);
  EXPECT_EQ(pool.take(), pool.chunk(0));
  EXPECT_EQ(pool.take(), pool.chunk(1));
  EXPECT_EQ(pool.take_run(2, first), first) << "what is not reserved is not made ready either";
}

TEST_F(PoolTest, MayBecomeSmallerAndLargerBetweenStreams) {
  for (const std::uint32_t chunks : {8u, 2u, 5u, 16u}) {
    make(chunks);
    std::set<ChunkHeader*> taken;
    while (ChunkHeader* chunk = take_and_fill(1)) taken.insert(chunk);
    EXPECT_EQ(taken.size(), chunks);
    for (ChunkHeader* chunk : taken) pool.retire(chunk);
    EXPECT_EQ(pool.full_count(), chunks);
    EXPECT_EQ(pool.mislaid_chunks(), 0u);
  }
}

TEST_F(PoolTest, GivesNoChunkToTwoThreadsAtATime) {
  constexpr int kRounds = 20'000;
  make(8);
  std::vector<std::atomic<int>> owners(8);
  std::atomic<int> clashes{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRounds; ++i) {
          ChunkHeader* chunk = pool.take();
          if (chunk == nullptr) {
            if (ChunkHeader* full = pool.pop_full()) pool.release(full);
            continue;
          }
          std::atomic<int>& owner = owners[pool.index_of(chunk)];
          if (owner.exchange(t + 1) != 0) clashes.fetch_add(1);
          owner.store(0);
          i % 2 == 0 ? pool.retire(chunk) : pool.release(chunk);
        }
      });
    }
  }
  EXPECT_EQ(clashes.load(), 0);
  EXPECT_EQ(pool.free_count() + pool.full_count() + pool.mislaid_chunks(), pool.fresh_used());
}

}  // namespace
}  // namespace sonde::detail
